package boxes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
