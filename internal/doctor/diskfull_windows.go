package doctor

import (
	"errors"
	"syscall"
)

// errDiskFull is the system's ERROR_DISK_FULL.
const errDiskFull = syscall.Errno(112)

// DiskFull tells whether err says that the disk is full.
func DiskFull(err error) bool { return errors.Is(err, errDiskFull) }
