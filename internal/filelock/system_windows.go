package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const openFlags = os.O_RDWR | os.O_CREATE

// keepsOpen means that an open file can be removed by others.
const keepsOpen = false

// lockFile takes the lock on the first byte, as Python's msvcrt does, if it is
// free.
func lockFile(file *os.File, exclusive bool) (bool, error) {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(file.Fd()), how, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

func unlockFile(file *os.File) error {
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, &windows.Overlapped{})
}
