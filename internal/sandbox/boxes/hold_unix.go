//go:build unix

package boxes

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// holdHome says that a home directory is in use: by boxes, or by the one who removes
// what is in it. The kernel lets go of it when ohgw ends. Where a file system has no
// locks, nothing is held.
func holdHome(home string, alone bool) (release func(), err error) {
	dir, err := os.Open(home)
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	if err := unix.Flock(int(dir.Fd()), how|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		_ = dir.Close()
		return nil, ErrHomeInUse
	}
	return func() {
		// A program that is being started has a copy of the descriptor until it runs.
		_ = unix.Flock(int(dir.Fd()), unix.LOCK_UN)
		_ = dir.Close()
	}, nil
}
