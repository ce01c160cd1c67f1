//go:build !windows

package doctor

import (
	"errors"
	"syscall"
)

// DiskFull tells whether err says that the disk, or the user's part of it, is
// full.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
