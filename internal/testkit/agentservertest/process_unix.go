//go:build unix

package agentservertest

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts the command into a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the process to end. That it has ended already is not an error.
func terminate(process *os.Process) { _ = process.Signal(syscall.SIGTERM) }

// killGroup kills the process, which has not ended yet, and its group.
func killGroup(process *os.Process) { _ = syscall.Kill(-process.Pid, syscall.SIGKILL) }
