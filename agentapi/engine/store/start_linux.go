//go:build linux && !arm

package store

import (
	"os"
	"syscall"
)

// syncFileRangeWrite is SYNC_FILE_RANGE_WRITE.
const syncFileRangeWrite = 2

// startWrite has the system begin to write a file, and waits for nothing. A
// failure is told by the sync that follows.
func startWrite(path string) {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return
	}
	_ = syscall.SyncFileRange(int(f.Fd()), 0, 0, syncFileRangeWrite)
	_ = f.Close() // It was only read.
}
