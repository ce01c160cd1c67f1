//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock keeps opening a pipe from waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// chownLike gives a file the owner of the one it replaces, where we may.
func chownLike(f *os.File, old fs.FileInfo) {
	if stat, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(stat.Uid), int(stat.Gid))
	}
}
