//go:build unix

package instance

import (
	"os"
	"syscall"
)

// Terminate asks a process to end. On Windows the error is
// errors.ErrUnsupported.
func Terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
