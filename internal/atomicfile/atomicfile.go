// Package atomicfile replaces the content of a file in one step: a reader, and
// a machine that loses power, sees the old content or the new one, never a
// mixture and never an empty file.
//
// It does not lock; two writers of the same file need a lock of their own
// (see filelock). Invariants: the new content is on the disk before it takes
// the name; whatever fails, the old file stays and no temporary file is left;
// a file that did not exist is readable by its owner only. A file that is a mount
// of its own cannot be replaced; it is written in place, after a backup.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotRegular is returned for a target that exists and is not a regular file: a
// directory, a device, a pipe.
var ErrNotRegular = errors.New("not a regular file")

// newFileMode is the mode of a file that did not exist before. What ohgw writes
// is private until the user changes the mode.
const newFileMode fs.FileMode = 0o600

// Names of temporary files.
const (
	tempPrefix = ".ohgw-"
	tempSuffix = ".tmp"
)

// maxLinks bounds how many symbolic links are followed to the target; the
// number is Linux's own.
const maxLinks = 40

// Options changes how Write treats the mode. The zero value keeps the mode of
// an existing file.
type Options struct {
	// MaxMode takes permission bits away from the mode that is kept. Zero
	// means that none are taken.
	MaxMode fs.FileMode
}

// Write replaces the content of the file at path with data, or makes the file.
// A symbolic link is followed: what it points at is replaced, the link stays.
// The mode of an existing file is kept, and its owner where we may set it.
func Write(path string, data []byte, opts Options) error {
	if err := write(path, data, opts); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// IsTemp reports whether a file of that name is a temporary one of Write. A
// process that dies leaves one behind; an old one may be removed.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// SyncDir makes the names in a directory durable, where the system can.
func SyncDir(dir string) error { return syncDir(dir) }

func write(path string, data []byte, opts Options) error {
	target, err := follow(path)
	if err != nil {
		return err
	}
	mode := newFileMode
	old, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	case !old.Mode().IsRegular():
		return ErrNotRegular
	default:
		mode = old.Mode().Perm()
	}
	if opts.MaxMode != 0 {
		mode &= opts.MaxMode
	}
	temp, err := fill(filepath.Dir(target), data, mode, old)
	if err != nil {
		return err
	}
	if err := replace(temp, target); err != nil {
		if old == nil || !IsMount(err) {
			return errors.Join(err, os.Remove(temp))
		}
		if err := overMount(temp, target); err != nil {
			return errors.Join(err, os.Remove(temp))
		}
	}
	return syncDir(filepath.Dir(target))
}

func overMount(temp, target string) error {
	root, err := os.OpenRoot(filepath.Dir(target))
	if err != nil {
		return err
	}
	defer root.Close()
	return inPlace(root, filepath.Base(temp), filepath.Base(target))
}

// fill writes a temporary file and gives its name. Its name ends in .tmp,
// because OpenHands takes every *.json beside it for a profile.
func fill(dir string, data []byte, mode fs.FileMode, old fs.FileInfo) (name string, err error) {
	f, err := os.CreateTemp(dir, tempPrefix+"*"+tempSuffix)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(f.Close()), os.Remove(f.Name()))
		}
	}()
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	keepOwner(f, old)
	// After the owner: changing that clears mode bits on some systems.
	if err := f.Chmod(mode); err != nil {
		return "", err
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return f.Name(), nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}

// follow resolves symbolic links in the last element of path, also when what
// they point at does not exist yet. (filepath.EvalSymlinks needs it to exist.)
func follow(path string) (string, error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		next, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(path), next)
		}
		path = next
	}
	return "", errors.New("too many levels of symbolic links")
}

// Remove removes a file. One that is not there is not an error: another process may have
// removed it.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
