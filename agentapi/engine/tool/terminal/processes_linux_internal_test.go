//go:build linux

package terminal

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A process that ended by itself has taken no signal, and one that a signal ends has.
func TestWhatEndsAProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		sig    syscall.Signal
		want   bool
	}{
		"it ends":            {"exit 0", 0, true},
		"it fails":           {"exit 3", 0, true},
		"a signal":           {"sleep 60", syscall.SIGINT, false},
		"a signal with core": {"sleep 60", syscall.SIGQUIT, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "ulimit -c 0; "+c.script)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Wait() }() // until then it is not away
			pid := cmd.Process.Pid
			if c.sig != 0 {
				if endsByItself(pid) {
					t.Error("it ends before the signal")
				}
				_ = syscall.Kill(-pid, c.sig)
			}
			waitUntil(time.Minute, func() bool { return stat(pid)[statState] == "Z" })
			if got := endsByItself(pid); got != c.want {
				t.Errorf("ends by itself: %t", got)
			}
		})
	}
	if endsByItself(1 << 30) {
		t.Error("a process that there is not has ended by itself")
	}
}
