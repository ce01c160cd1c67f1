package boxes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrHomeInUse says that a box shows a home directory.
var ErrHomeInUse = errors.New("a sandbox uses this home directory")

// ResetHome removes everything in the home directory of boxes, and leaves the
// directory. ErrHomeInUse. One that does not exist is no error.
func ResetHome(home string) error {
	if _, err := os.Lstat(home); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	release, err := holdHome(home, true)
	if err != nil {
		return err
	}
	defer release()
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	// What is in a directory without the right to write, such as Go's module cache,
	// could not be removed. Errors are those of RemoveAll, too.
	_ = filepath.WalkDir(home, func(at string, d fs.DirEntry, err error) error {
		if rel, relErr := filepath.Rel(home, at); err == nil && relErr == nil && d.IsDir() && rel != "." {
			_ = root.Chmod(rel, 0o700)
		}
		return nil
	})
	entries, err := os.ReadDir(home)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := root.RemoveAll(entry.Name()); err != nil {
			return fmt.Errorf("remove %s: %w", filepath.Join(home, entry.Name()), err)
		}
	}
	return nil
}
