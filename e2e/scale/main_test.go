//go:build e2e && unix

package scale_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/internal/testkit/pgtest"
)

var database *pgtest.Server

func TestMain(m *testing.M) {
	code := pgtest.Main(m, func(s *pgtest.Server) { database = s })
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := os.RemoveAll(buildDir()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// What is built, once and when it is asked for.
var (
	buildDir = sync.OnceValue(func() string {
		dir, err := os.MkdirTemp("", "ohgw-scale-")
		if err != nil {
			panic(err)
		}
		return dir
	})
	program  = built("ohgw")
	unfenced = built("ohgw-nofence", "-tags", "nofence")
)

func built(name string, args ...string) func(testing.TB) string {
	build := sync.OnceValues(func() (string, error) {
		path := filepath.Join(buildDir(), name)
		cmd := exec.Command("go", append(append([]string{"build", "-o", path}, args...), "../../cmd/ohgw")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
		return path, nil
	})
	return func(tb testing.TB) string {
		tb.Helper()
		if dir := os.Getenv("OHGW_SCALE_BINARIES"); dir != "" {
			return filepath.Join(dir, name)
		}
		path, err := build()
		if err != nil {
			tb.Fatal(err)
		}
		return path
	}
}

// length is how long the row of random faults takes.
func length(t *testing.T) time.Duration {
	t.Helper()
	v := os.Getenv("OHGW_SCALE")
	if v == "" {
		return 20 * time.Second
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		t.Fatalf("OHGW_SCALE: %v", err)
	}
	return d
}

// seed is what decides everything that is random.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := uint64(time.Now().UnixNano())
	if v := os.Getenv("OHGW_SCALE_SEED"); v != "" {
		var err error
		if n, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("OHGW_SCALE_SEED: %v", err)
		}
	}
	t.Logf("OHGW_SCALE_SEED=%d", n)
	return n
}
