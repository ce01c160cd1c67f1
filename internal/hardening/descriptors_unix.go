//go:build unix

package hardening

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// keepDescriptors marks the inherited descriptors: those that Go opens itself
// are marked already.
func keepDescriptors() {
	if markAll() == nil {
		return
	}
	for _, fd := range descriptors() {
		if fd > 2 {
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
		}
	}
}

// descriptors lists the numbers of all that are open, and of some that are not.
func descriptors() []int {
	const atMost = 1024 // where the system does not list them
	entries, err := os.ReadDir("/dev/fd")
	var all []int
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, fd)
		}
	}
	if err != nil || len(all) == 0 {
		for fd := range atMost {
			all = append(all, fd)
		}
	}
	return all
}
