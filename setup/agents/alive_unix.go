//go:build unix

package agents

import (
	"errors"
	"syscall"
)

// processLives reports whether there is a process of that number.
func processLives(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
