package manager_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox/manager"
)

// A package manager that is slow to answer, once, loses its hosts until it has answered,
// and no longer: neither for this process nor for the next one. The programs are real, and
// answer when the test lets them.
func TestTheHostsOfASlowPackageManagerWorkWhenItHasAnswered(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]struct{ preset, program, settings, says, variable string }{
		"npm": {"node", "npm", ".npmrc", `{"registry":"http://slow.example/"}`, "NPM_CONFIG_REGISTRY"},
		"pip": {"python", "python3", ".config/pip/pip.conf", "global.index-url='http://slow.example/'", "PIP_INDEX_URL"},
		"go":  {"go", "go", ".config/go/env", `{"GOPROXY":"http://slow.example/","GOSUMDB":"off"}`, "GOPROXY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, real, online(manager.Report))
			bin, asked := filepath.Join(w.root, "tools"), filepath.Join(w.root, "asked")
			pipe := filepath.Join(w.root, "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(bin, tool.program), "#!/bin/sh\necho x >>"+asked+"\nread -r line <"+pipe+"\nprintf '%s\\n' \"$line\"\n")
			if err := os.Chmod(filepath.Join(bin, tool.program), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(w.home, tool.settings), "")
			w.cfg.Settings.Allow = []string{"@packages"}
			w.cfg.Patience = 50 * time.Millisecond
			w.cfg.Getenv = func(name string) string { return map[string]string{"PATH": bin}[name] }
			box := w.box(w.manager())
			for range 2 {
				w.asks(box, "slow.example", false)
				refused := unlisted("slow.example")
				refused.Why += ", and a package manager did not list the hosts it uses (@" + tool.preset + ": no answer yet after 50ms): " +
					"try again, or see ohgw sandbox explain @" + tool.preset
				w.told(refused)
			}
			if err := os.WriteFile(pipe, []byte(tool.says+"\n"), 0); err != nil {
				t.Fatal(err)
			}
			// The answer is read in the background.
			for !strings.Contains(w.run(box, request("slow.example")), "hello from slow.example") {
				select {
				case <-w.blocked:
				case <-t.Context().Done():
					t.Fatal("the host is refused")
				}
			}
			if got := w.run(box, "echo $"+tool.variable); !strings.HasPrefix(got, "http://slow.example") {
				t.Errorf("the next program has %s=%q", tool.variable, got)
			}
			if data, err := os.ReadFile(asked); err != nil || string(data) != "x\n" {
				t.Errorf("asked %q, %v", data, err)
			}
			w.quiet()
			// The next process has the answer from the disk: it does not ask the user.
			next := w.box(w.manager())
			if got := w.run(next, "echo $"+tool.variable); !strings.HasPrefix(got, "http://slow.example") {
				t.Errorf("the first program of the next process has %s=%q", tool.variable, got)
			}
			w.asks(next, "slow.example", true)
			if data, err := os.ReadFile(asked); err != nil || string(data) != "x\n" {
				t.Errorf("the next process asked %q, %v", data, err)
			}
			w.quiet()
		})
	}
}
