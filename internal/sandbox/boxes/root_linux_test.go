package boxes_test

import (
	"os"
	"strings"
	"testing"
)

// TestRootSeesWhatEverybodySees looks for files that not everybody may read, and that
// can be read in the box all the same.
func TestRootSeesWhatEverybodySees(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user's files are those of the user")
	}
	w := newWorld(t)
	out, code := w.sh(`find /etc /opt /srv /usr/local/etc /var/lib /var/cache /var/spool -maxdepth 2 -type f -size +0 ! -perm -o=r -readable 2>/dev/null; echo done`)
	if code != 0 || strings.TrimSpace(out) != "done" {
		t.Errorf("exit code %d: %s", code, out)
	}
	for _, at := range []string{"/proc/slabinfo", "/proc/vmallocinfo"} {
		if out, _ := w.sh("cat " + at + " | head -c 1"); out != "" {
			t.Errorf("%s is readable", at)
		}
	}
}
