//go:build unix

package keyfile

import (
	"io/fs"
	"os"
	"syscall"
)

// isMine reports whether a file belongs to this user.
func isMine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) == os.Geteuid()
}
