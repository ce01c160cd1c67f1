//go:build unix

package mcp

import (
	"syscall"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// tell asks a server to end.
func tell(p sandbox.Process) error { return syscall.Kill(p.PID(), syscall.SIGTERM) }
