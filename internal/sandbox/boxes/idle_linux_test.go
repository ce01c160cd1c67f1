package boxes_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// idleWorld is a world whose box ends as soon as nothing runs in it.
func idleWorld(t *testing.T) *world {
	t.Helper()
	return newWorld(t, func(w *world, cfg *boxes.Config) {
		cfg.Idle = time.Millisecond
		cfg.Policy.Tmp = filepath.Join(w.root, "tmp")
		if err := os.Mkdir(cfg.Policy.Tmp, 0o700); err != nil {
			t.Fatal(err)
		}
	})
}

// helperOf starts a program and gives a descriptor of the helper that started it.
func (w *world) helperOf(script string) (pidfd int) {
	w.t.Helper()
	p, out := w.start("/bin/sh", "-c", script+"; echo ready; exec sleep 1000")
	defer out.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		w.t.Fatal(line, err)
	}
	pidfd, err := unix.PidfdOpen(parent(w.t, p.PID()), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = unix.Close(pidfd) })
	_ = p.Kill()
	return pidfd
}

func ended(t *testing.T, pidfd int, within time.Duration) bool {
	t.Helper()
	for end := time.Now().Add(within); ; {
		left := max(0, time.Until(end))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n == 1
		}
	}
}

func TestHelperEndsWhenNothingRuns(t *testing.T) {
	t.Parallel()
	w := idleWorld(t)
	first := w.helperOf("echo kept | tee ~/file > /tmp/file")
	if !ended(t, first, time.Minute) {
		t.Fatal("the helper stays")
	}
	if out, code := w.sh("cat ~/file /tmp/file /var/tmp/file"); code != 0 || out != "kept\nkept\nkept" {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestHelperStaysForWhatWasLeftInTheBackground(t *testing.T) {
	t.Parallel()
	w := idleWorld(t)
	// The one in the background has no output of the shell, and is not a child of it.
	helper := w.helperOf("(setsid sh -c 'echo $$ > /tmp/left; exec sleep 1000' >/dev/null 2>&1 &); while [ ! -s /tmp/left ]; do :; done")
	// Many times as long as it takes to see that nothing runs.
	if ended(t, helper, 200*time.Millisecond) {
		t.Fatal("the helper has ended")
	}
	if out, code := w.sh("kill $(cat /tmp/left)"); code != 0 {
		t.Errorf("the server in the background is gone: %s", out)
	}
	if !ended(t, helper, time.Minute) {
		t.Error("the helper stays")
	}
}
