package serving

import "syscall"

// errInUse is the system's error for an address that another process listens
// on: WSAEADDRINUSE, which the syscall package does not name.
const errInUse = syscall.Errno(10048)
