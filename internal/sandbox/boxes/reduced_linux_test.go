package boxes_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// reduced makes a box one of level reduced.
func reduced(_ *world, c *boxes.Config) { c.Level = sandbox.Reduced }

func TestReducedKeepsFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reduced)
	if w.box.Level() != sandbox.Reduced {
		t.Errorf("level %s", w.box.Level())
	}
	secret := filepath.Join(w.home, ".ssh-key")
	if err := os.WriteFile(secret, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := w.sh("set -e; echo x > file; echo y > ~/file; echo z > $TMPDIR/file; mkdir a b; touch a/x; mv a/x b/y; cat <<< here; ls /etc >/dev/null; cat file ~/file")
	if code != 0 || out != "here\nx\ny" {
		t.Errorf("exit code %d: %s", code, out)
	}
	for _, script := range []string{
		"cat " + secret, "echo evil > " + secret, "ls " + w.home, "rm " + secret, "touch " + w.root + "/beside", "touch /tmp/beside-box",
		"mv " + secret + " .", "ln " + secret + " link", "cat /proc/1/environ", "cat /proc/$PPID/environ", "echo > /proc/sys/kernel/core_pattern",
	} {
		if out, code := w.sh(script); code == 0 {
			t.Errorf("%s: %s", script, out)
		}
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "canary" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(w.own, "file")); err != nil || strings.TrimSpace(string(data)) != "y" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestReducedEndsItsPrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reduced)
	_, out := w.start("/bin/bash", "-c", "(setsid sh -c 'sleep 1000 & exec sleep 1000' &); (trap '' TERM HUP; sleep 1000) & echo ready; wait")
	defer out.Close()
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if err := w.box.Close(); err != nil {
		t.Error(err)
	}
	if left, err := io.ReadAll(out); err != nil || len(left) > 0 { // It ends when no program has the pipe.
		t.Errorf("%q, %v", left, err)
	}
	if _, err := w.box.Start(t.Context(), sandbox.Program{Args: []string{"true"}, Dir: w.workspace}); !errors.Is(err, sandbox.ErrClosed) {
		t.Error(err)
	}
}

// A program has its own terminal, and no other one of the user.
func TestReducedTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reduced)
	other, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	defer other.Close()
	p, master := w.terminal()
	defer master.Close()
	stuck := time.AfterFunc(2*time.Minute, func() { _ = p.Kill() })
	defer stuck.Stop()
	script := "stty -echo\necho a''gain > /dev/stderr; exec 3<>" + theirs.Name() + " || echo ref''used; sleep 1000 &\nkill %1; wait %1 2>/dev/null; echo jobs $?; test $(tty) && echo na''med; exit\n"
	if _, err := io.WriteString(master, script); err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(master) // The last program closes it, which is an error.
	for _, want := range []string{"again", "refused", "jobs 143", "named"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("no %s: %q", want, said)
		}
	}
}
