//go:build !windows

package doctor

import (
	"errors"
	"syscall"
)

// noSpace tells whether err says that the disk, or the user's part of it, is
// full.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
