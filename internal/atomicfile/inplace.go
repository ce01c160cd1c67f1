package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// inPlace writes into the file at path, which is a mount: a container often has a
// file of its host so. The old content is beside it until the new one is on the
// disk; if neither can be written, it stays there, and the error names it.
func inPlace(path string, data []byte, mode fs.FileMode) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	backup, err := fill(filepath.Dir(path), old, info.Mode().Perm(), info)
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	if err := overwrite(path, data, mode); err != nil {
		if again := overwrite(path, old, info.Mode().Perm()); again != nil {
			return fmt.Errorf("%w; its old content is in %s", err, backup)
		}
		return errors.Join(err, os.Remove(backup))
	}
	return os.Remove(backup)
}

func overwrite(path string, data []byte, mode fs.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ignoreClosed(f.Close())) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().Perm() != mode {
		// First: what is private is not written where others read it.
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		return err
	}
	return f.Sync()
}
