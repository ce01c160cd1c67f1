//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a program the head of a process group, so that what it starts
// ends with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the group of a program, and the program if it still runs.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
