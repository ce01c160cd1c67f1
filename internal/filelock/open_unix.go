//go:build unix

package filelock

import (
	"os"
	"syscall"
)

const openFlags = os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW
