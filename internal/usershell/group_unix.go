//go:build unix

package usershell

import (
	"os/exec"
	"syscall"
)

// own gives the command a session of its own: it has no terminal that it could
// ask for a password, and what it starts can be ended with it.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}

// end ends what a command that was interrupted has left behind.
func end(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // It may be gone.
	}
}
