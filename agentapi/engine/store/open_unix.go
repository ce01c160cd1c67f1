//go:build unix

package store

import (
	"os"
	"syscall"
)

// rename renames a file without the check of os.Rename for a directory in the way,
// which costs one more call.
func rename(from, to string) error {
	for {
		switch err := syscall.Rename(from, to); err {
		case nil:
			return nil
		case syscall.EINTR:
		default:
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
	}
}

// openFile is os.OpenFile for a regular file. That one offers each file to the
// poller first, which takes five more calls of the system, and turns such a
// file away: more than writing a small file costs.
func openFile(path string, flags int) (*os.File, error) {
	for {
		fd, err := syscall.Open(path, flags|syscall.O_CLOEXEC, fileMode)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), path), nil
		case syscall.EINTR:
		default:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}
