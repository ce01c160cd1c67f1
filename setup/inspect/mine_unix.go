//go:build unix

package inspect

import (
	"io/fs"
	"syscall"
)

// mine reports whether the user owns a file.
func mine(info fs.FileInfo, user int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == user
}
