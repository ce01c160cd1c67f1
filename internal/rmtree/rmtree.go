// Package rmtree removes directories that programs of agents have filled.
package rmtree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// All removes what is at path with everything below it; nothing there is no error. It
// also removes what lies in directories that their owner may not write in, such as Go's
// module cache, where [os.RemoveAll] fails for all users but root. A symbolic link is
// removed, and never followed.
func All(path string) error {
	err := os.RemoveAll(path)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	info, statErr := os.Lstat(path)
	if statErr != nil || !info.IsDir() {
		return err
	}
	allow(path)
	return os.RemoveAll(path)
}

// allow gives the owner of a directory every right in it and in those below it, as far
// as that can be done: where it cannot, removing tells.
func allow(path string) {
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return
	}
	defer func() { _ = parent.Close() }()
	_ = parent.Chmod(filepath.Base(path), private) // else it cannot be opened
	root, err := parent.OpenRoot(filepath.Base(path))
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	_ = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(path, at)
		if err == nil && relErr == nil && d.IsDir() && rel != "." {
			_ = root.Chmod(rel, private) // before it is read
		}
		return nil
	})
}

const private = 0o700
