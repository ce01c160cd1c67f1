//go:build unix

package conns

import (
	"errors"

	"golang.org/x/sys/unix"
)

// atEnd reports whether nothing more comes on a connection. It does not wait, and
// takes nothing from those who read.
func atEnd(fd uintptr) bool {
	var b [1]byte
	n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	switch {
	case err == nil:
		return n == 0
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return false
	}
	return true
}

// limit is how many connections there may be: half of the descriptors that
// this process may have. The rest is for the agents.
func limit() int {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return mostConns
	}
	return int(max(1, min(uint64(r.Cur)/2, mostConns)))
}
