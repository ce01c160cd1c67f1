//go:build linux || darwin || freebsd

package inspect

import (
	"golang.org/x/sys/unix"
)

// freeSpace is how many bytes the user can still write below a directory.
func freeSpace(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(max(0, int64(st.Bavail))) * uint64(st.Bsize), nil
}
