//go:build unix

package sandbox

import (
	"os"
	"strconv"
	"syscall"
)

// inheritEach marks the descriptors that are listed in a directory.
func inheritEach(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
