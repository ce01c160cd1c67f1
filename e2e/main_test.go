//go:build e2e

package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(buildDir()); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
		}
		os.Exit(code)
	}))
}

// What is built, once and when it is asked for.
var (
	buildDir = sync.OnceValue(func() string {
		dir, err := os.MkdirTemp("", "ohgw-e2e-")
		if err != nil {
			panic(err)
		}
		return dir
	})
	plainProgram = built("ohgw", "..", "./cmd/ohgw")
	racyProgram  = built("ohgw-race", "..", "-race", "./cmd/ohgw")
	official     = built("official", "go", "./official")
	community    = built("community", "go", "./community")
	goResponses  = built("responses", "go", "./responses")
)

// built gives a function that builds a program and gives its path.
func built(name, dir string, args ...string) func(testing.TB) string {
	build := sync.OnceValues(func() (string, error) {
		path := filepath.Join(buildDir(), name)
		cmd := exec.Command("go", append([]string{"build", "-o", path}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
		}
		return path, nil
	})
	return func(t testing.TB) string {
		t.Helper()
		path, err := build()
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
}

// need gives the absolute path of a file that scripts/e2e-setup makes. Without
// it the test is skipped, loudly, and fails where the environment has CI=true.
func need(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(abs)
	if err == nil {
		return abs
	}
	message := fmt.Sprintf("%s checks NOTHING: %s is missing; run scripts/e2e-setup", t.Name(), path)
	if !errors.Is(err, os.ErrNotExist) || os.Getenv("CI") == "true" {
		t.Fatal(message)
	}
	fmt.Fprintln(os.Stderr, message) // a skip alone is silent without -v
	t.Skip(message)
	return ""
}
