//go:build unix

package presets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox/presets"
)

// TestToolsRunInACleanPlace runs a real program in the tool's place.
func TestToolsRunInACleanPlace(t *testing.T) {
	t.Parallel()
	bin, home, dir := t.TempDir(), t.TempDir(), t.TempDir()
	script := "#!/bin/sh\n/usr/bin/env >" + home + "/env\n/bin/ls -A >" + home + "/files\npwd >" + home + "/dir\n" +
		`echo '{"GOPROXY":"http://127.0.0.1:3000","GOSUMDB":"off"}'` + "\n"
	write(t, filepath.Join(bin, "go"), script)
	if err := os.Chmod(filepath.Join(bin, "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PATH": bin, "GOPROXY": "set", "SECRET_TOKEN": "hunter2", "NODE_OPTIONS": "--require=evil", "LD_PRELOAD": "x"}
	a := presets.New(presets.Config{Getenv: func(name string) string { return env[name] }, Home: home, Dir: dir})
	defer a.Close()
	found, err := presets.Workspace{Asker: a}.Ask(t.Context(), "go")
	if err != nil || len(found.Entries) != 1 {
		t.Fatalf("found %q, %v", text(found), err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(home, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if got := read("files"); got != "" {
		t.Errorf("the directory has %q", got)
	}
	if got := read("env"); !strings.Contains(got, "GOPROXY=set\n") || !strings.Contains(got, "HOME="+home+"\n") ||
		strings.Contains(got, "hunter2") || strings.Contains(got, "NODE_OPTIONS") || strings.Contains(got, "LD_PRELOAD=x") {
		t.Errorf("the environment is %q", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAToolThatHangsIsEnded(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	write(t, filepath.Join(bin, "go"), "#!/bin/sh\nwhile :; do /bin/sleep 1000; done\n")
	if err := os.Chmod(filepath.Join(bin, "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	a := presets.New(presets.Config{Getenv: func(string) string { return bin }, Home: bin, Dir: t.TempDir(), Run: presets.Run(100 * time.Millisecond)})
	defer a.Close()
	found, err := presets.Workspace{Asker: a}.Ask(t.Context(), "go")
	if err != nil || len(found.Problems) != 1 || !strings.HasSuffix(found.Problems[0].Error(), "no answer within 100ms") {
		t.Errorf("found %q, %v; want a problem", text(found), err)
	}
}
