//go:build unix

package tui

import (
	"os"
	"syscall"
)

// hangUp tells a command that its terminal is gone.
func hangUp(p *os.Process) { _ = p.Signal(syscall.SIGHUP) }
