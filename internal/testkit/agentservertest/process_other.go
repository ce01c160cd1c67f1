//go:build !unix

package agentservertest

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: without process groups there is only the process itself.
func ownGroup(*exec.Cmd) {}

func terminate(process *os.Process) { _ = process.Kill() }

func killGroup(process *os.Process) { _ = process.Kill() }
