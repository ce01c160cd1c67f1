//go:build !windows

package serving

import (
	"syscall"
)

// errInUse is the system's error for an address that another process listens on.
const errInUse = syscall.EADDRINUSE
