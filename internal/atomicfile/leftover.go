package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"
)

// Leftovers are the temporary files that killed processes left behind. They are looked
// for in Dir and in the directories below it.
type Leftovers struct {
	Dir string
	// Before is the time of the oldest write that may still go on: files that were
	// changed before it are removed.
	Before time.Time
	// Enter reports whether a directory below Dir is looked into; it gets the path
	// relative to Dir, with slashes. Nil: all of them are.
	Enter func(dir string) bool
}

// Remove looks for these files and removes them. It follows no symbolic link and goes on after an error.
func (l Leftovers) Remove() error {
	root, err := os.OpenRoot(l.Dir)
	if err != nil {
		return fmt.Errorf("remove temporary files: %w", err)
	}
	defer root.Close()
	var failed []error
	walk := func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			failed = append(failed, err)
		case e.IsDir():
			if name != "." && l.Enter != nil && !l.Enter(name) {
				return fs.SkipDir
			}
		case e.Type().IsRegular() && IsTemp(path.Base(name)):
			failed = append(failed, l.remove(root, name, e))
		}
		return nil
	}
	failed = append(failed, fs.WalkDir(root.FS(), ".", walk))
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("remove temporary files: %w", err)
	}
	return nil
}

func (l Leftovers) remove(root *os.Root, name string, e fs.DirEntry) error {
	info, err := e.Info()
	if err == nil && info.ModTime().Before(l.Before) {
		err = root.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
