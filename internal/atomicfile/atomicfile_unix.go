//go:build unix

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func replace(from, to string) error { return os.Rename(from, to) }

// IsMount reports whether a file could not be replaced because something is mounted
// on it.
func IsMount(err error) bool { return errors.Is(err, syscall.EBUSY) }

// syncDir makes the rename itself durable. Some file systems refuse to sync a
// directory; there the order of writes is theirs to keep.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// keepOwner gives the new file the owner of the old one, so that a command run
// with sudo does not lock its user out. Only root can; for everybody else the
// owner is right already or cannot be changed.
func keepOwner(f *os.File, old fs.FileInfo) {
	if old == nil || os.Geteuid() != 0 {
		return
	}
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}
