//go:build unix

package presets_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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

// A tool that is slow is not waited for for ever, and counts as soon as it has answered.
func TestASlowToolCountsWhenItHasAnswered(t *testing.T) {
	t.Parallel()
	for program, says := range map[string]string{
		"go": `{"GOPROXY":"http://127.0.0.1:3000","GOSUMDB":"off"}`, "npm": `{"registry":"http://127.0.0.1:3000"}`,
	} {
		bin := t.TempDir()
		pipe := filepath.Join(bin, "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(bin, program), "#!/bin/sh\nread -r line < "+pipe+"\nprintf '%s\\n' \"$line\"\n")
		if err := os.Chmod(filepath.Join(bin, program), 0o755); err != nil {
			t.Fatal(err)
		}
		a := presets.New(presets.Config{
			Getenv: func(name string) string { return map[string]string{"PATH": bin}[name] }, Home: bin, Dir: t.TempDir(), Patience: 100 * time.Millisecond,
			Failed: func(err error) { t.Error(err) },
		})
		defer a.Close()
		w := presets.Workspace{Asker: a}
		preset := map[string]string{"go": "go", "npm": "node"}[program]
		for range 2 {
			found, err := w.Ask(t.Context(), preset)
			if err != nil || len(found.Problems) != 1 || found.Problems[0].Error() != "@"+preset+": no answer yet after 100ms" {
				t.Errorf("%s: found %q, %v; want a problem", program, text(found), err)
			}
		}
		if err := os.WriteFile(pipe, []byte(says+"\n"), 0); err != nil {
			t.Fatal(err)
		}
		for found, err := w.Ask(t.Context(), preset); len(found.Entries) != 1; found, err = w.Ask(t.Context(), preset) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Asking leaves nothing in the home directory, also of tools that the user does not use.
func TestAskingLeavesNoTrace(t *testing.T) {
	t.Parallel()
	for preset, program := range map[string]string{"go": "go", "node": "npm", "python": "pip3", "system": "apt-get"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil {
				t.Skip(err)
			}
			home, dir := t.TempDir(), t.TempDir()
			a := presets.New(presets.Config{Getenv: func(name string) string { return map[string]string{"PATH": os.Getenv("PATH")}[name] }, Home: home, Dir: dir})
			defer a.Close()
			if found, err := (presets.Workspace{Asker: a}).Ask(t.Context(), preset); err != nil || len(found.Problems) > 0 {
				t.Fatalf("found %q, %v", text(found), err)
			}
			for _, at := range []string{home, dir} {
				if left, err := os.ReadDir(at); err != nil || len(left) > 0 {
					t.Errorf("left behind: %v, %v", left, err)
				}
			}
		})
	}
}

// Python starts once to say what pip uses, whatever the program of pip is.
func TestPipIsAskedOnce(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("python3", "-c", "import pip, sys; print(sys.executable)").CombinedOutput()
	if err != nil {
		t.Skipf("there is no pip: %v: %s", err, out)
	}
	python := strings.TrimSpace(string(out))
	for name, pip := range map[string]string{"by its first line": "#!BIN/python-of-pip -E\n", "beside it": "#!/bin/sh\nexit 9\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin, home, asked := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "asked")
			counts := "#!/bin/sh\necho x >>" + asked + "\nexec " + python + " \"$@\"\n"
			for file, text := range map[string]string{"pip3": strings.ReplaceAll(pip, "BIN", bin), "python3": counts, "python-of-pip": counts} {
				write(t, filepath.Join(bin, file), text)
				if err := os.Chmod(filepath.Join(bin, file), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write(t, filepath.Join(home, ".config", "pip", "pip.conf"), "[global]\nindex-url = http://127.0.0.1:8081/simple\n[install]\nextra-index-url = http://127.0.0.1:8082/simple\n")
			a := presets.New(presets.Config{
				Getenv: func(name string) string {
					return map[string]string{"PATH": bin, "XDG_CONFIG_HOME": filepath.Join(home, ".config")}[name]
				},
				Home: home, Dir: t.TempDir(),
			})
			defer a.Close()
			found, err := presets.Workspace{Asker: a}.Ask(t.Context(), "python")
			if err != nil || len(found.Problems) > 0 {
				t.Fatalf("text = %q, error %v", text(found), err)
			}
			for _, want := range []string{"PIP_INDEX_URL=http://127.0.0.1:8081/simple", "PIP_EXTRA_INDEX_URL=http://127.0.0.1:8082/simple"} {
				if !slices.Contains(found.Env, want) {
					t.Errorf("found %q, without %s", found.Env, want)
				}
			}
			if data, err := os.ReadFile(asked); err != nil || string(data) != "x\n" {
				t.Errorf("asked %q, %v", data, err)
			}
		})
	}
}
