package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Errors that a rename meets while another process has the target open for a
// moment: ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION.
const (
	accessDenied     = syscall.Errno(5)
	sharingViolation = syscall.Errno(32)
	lockViolation    = syscall.Errno(33)
)

const (
	renameTries = 40
	renamePause = 25 * time.Millisecond
)

// replace renames, and tries again for a second while a reader or a virus
// scanner holds the target.
func replace(from, to string) error {
	var err error
	for range renameTries {
		err = os.Rename(from, to)
		if !errors.Is(err, accessDenied) && !errors.Is(err, sharingViolation) && !errors.Is(err, lockViolation) {
			return err
		}
		time.Sleep(renamePause)
	}
	return err
}

// syncDir does nothing: Windows has no such call.
func syncDir(string) error { return nil }

func keepOwner(*os.File, fs.FileInfo) {}

// IsMount reports whether a file could not be replaced because something is mounted
// on it: Windows mounts directories only.
func IsMount(error) bool { return false }
