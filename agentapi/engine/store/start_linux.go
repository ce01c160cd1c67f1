//go:build linux && !arm

package store

import "syscall"

// startsWrites reports whether the system can be told to begin to write a file.
const startsWrites = true

// syncFileRangeWrite is SYNC_FILE_RANGE_WRITE.
const syncFileRangeWrite = 2

// start has the system begin to write the file, and waits for nothing. A
// failure is told by the sync that follows.
func (h handle) start() { _ = syscall.SyncFileRange(h.fd, 0, 0, syncFileRangeWrite) }
