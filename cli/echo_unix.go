//go:build !windows

package cli

import (
	"golang.org/x/sys/unix"
)

// stopEcho makes a terminal show nothing of what is typed from now on. It is
// called before a question is shown: whoever answers at once is not shown
// either.
func stopEcho(fd int) error {
	t, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return err
	}
	t.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(fd, setTermios, t)
}
