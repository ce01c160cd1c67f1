package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Over gives a written file the name of another one below root, which it replaces.
// Where the other one is a mount of its own, it is written in place. If that fails,
// the written file stays.
func Over(root *os.Root, written, name string) error {
	err := root.Rename(written, name)
	if err == nil || !IsMount(err) {
		return err
	}
	if info, statErr := root.Lstat(name); statErr != nil || !info.Mode().IsRegular() {
		return err
	}
	return inPlace(root, written, name)
}

// inPlace copies a written file into the one at name, which is a mount: a container
// often has a file of its host so. The old content is beside it until the new one is on
// the disk; if neither can be written, it stays there, and the error names it.
func inPlace(root *os.Root, written, name string) error {
	backup := filepath.Join(filepath.Dir(name), tempPrefix+rand.Text()+tempSuffix)
	if err := copyNew(root, name, backup); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	if err := overwrite(root, written, name); err != nil {
		if again := overwrite(root, backup, name); again != nil {
			return fmt.Errorf("%w; its old content is in %s", err, filepath.Join(root.Name(), backup))
		}
		return errors.Join(err, root.Remove(backup))
	}
	return errors.Join(root.Remove(backup), root.Remove(written))
}

// copyNew copies a file, with its mode, to a name that is not there.
func copyNew(root *os.Root, from, to string) (err error) {
	in, info, err := openRegular(root, from, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newFileMode)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, ignoreClosed(out.Close())); err != nil {
			err = errors.Join(err, root.Remove(to))
		}
	}()
	keepOwner(out, info)
	if err := out.Chmod(info.Mode().Perm()); err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}

// overwrite gives a file the content and the mode of another one.
func overwrite(root *os.Root, from, to string) (err error) {
	in, like, err := openRegular(root, from, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close()
	out, _, err := openRegular(root, to, os.O_WRONLY)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ignoreClosed(out.Close())) }()
	// First: what is private is not written where others read it.
	if err := takeMode(out, like.Mode()); err != nil {
		return err
	}
	n, err := io.Copy(out, in)
	if err != nil {
		return err
	}
	if err := out.Truncate(n); err != nil {
		return err
	}
	// Once more: to write a file can take bits from it.
	return errors.Join(takeMode(out, like.Mode()), out.Sync())
}

// takeMode changes a mode only where it differs: who may write a file need not own it.
func takeMode(f *os.File, mode fs.FileMode) error {
	info, err := f.Stat()
	if err != nil || info.Mode() == mode {
		return err
	}
	return f.Chmod(mode.Perm() | mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
}

// openRegular opens a regular file, and does not wait if it has become something else.
func openRegular(root *os.Root, name string, flag int) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, flag|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
