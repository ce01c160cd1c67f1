//go:build !windows

package cli

import "syscall"

// errInUse is the system's error for an address that somebody listens on.
const errInUse = syscall.EADDRINUSE
