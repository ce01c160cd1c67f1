//go:build unix

package keyboard

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Gone reports whether the other end of a terminal is closed. It reads nothing from the
// terminal.
func Gone(in io.Reader) bool {
	file, ok := Bare(in).(*os.File)
	if !ok {
		return false
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	err = conn.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(poll, 0)
		gone = err == nil && n > 0 && poll[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	})
	return err == nil && gone
}
