//go:build unix

package document

import (
	"io/fs"
	"syscall"
)

// openFlags keep an open from waiting for the writer of a pipe. They also save
// the runtime four calls to find out that a file cannot be waited for.
const openFlags = syscall.O_NONBLOCK

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
