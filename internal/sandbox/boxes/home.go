package boxes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/rmtree"
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
	entries, err := os.ReadDir(home)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := rmtree.All(filepath.Join(home, entry.Name())); err != nil {
			return fmt.Errorf("remove %s: %w", filepath.Join(home, entry.Name()), err)
		}
	}
	return nil
}

// RemoveHome removes the home directory of the boxes of a workspace, which is about to
// be removed or is gone already. ErrHomeInUse. One that does not exist is no error.
func RemoveHome(state, workspace string) error {
	// The workspace itself is not followed: another one's home would go.
	above, err := filepath.EvalSymlinks(filepath.Dir(workspace))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	home := HomeOf(state, filepath.Join(above, filepath.Base(workspace)))
	if err := ResetHome(home); err != nil {
		return err
	}
	return rmtree.All(filepath.Dir(home))
}
