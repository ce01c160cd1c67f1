package closed

import "golang.org/x/sys/unix"

// hideProcess makes the files of this process in /proc root's, and lets nobody
// without privileges trace it. It writes no core dump then, which would hold
// keys.
func hideProcess() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
