package boxes

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

// What is in the directory of a workspace's boxes: their home directory, and a file with
// the path of the workspace, by which a home directory is known whose workspace is gone.
const (
	homeName  = "home"
	ownerName = "workspace"
)

// HomeOf is the home directory of the boxes of a workspace, which has no symbolic
// links. It need not exist.
func HomeOf(state, workspace string) string {
	return filepath.Join(state, "sandbox", keyOf(workspace), homeName)
}

func keyOf(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return hex.EncodeToString(sum[:8])
}

// ownHome is HomeOf without symbolic links.
func ownHome(state, workspace string) (string, error) {
	if err := paths.MakePrivate(filepath.Join(state, "sandbox")); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(state)
	return HomeOf(real, workspace), err
}

// makeHome makes the home directory of a box if there is none.
func makeHome(p *policy.Policy) error {
	if err := paths.MakePrivate(p.Home); err != nil {
		return fmt.Errorf("make the home directory of the sandbox: %w", err)
	}
	dir := filepath.Dir(p.Home)
	if filepath.Base(p.Home) != homeName || filepath.Base(dir) != keyOf(p.Workspace) {
		return nil // It is not that of a plan.
	}
	owner := filepath.Join(dir, ownerName)
	if _, err := os.Lstat(owner); err == nil {
		return nil
	}
	if err := os.WriteFile(owner, []byte(p.Workspace), 0o600); err != nil {
		return fmt.Errorf("make the home directory of the sandbox: %w", err)
	}
	return nil
}

// RemoveHome removes the home directory of the boxes of a workspace that is removed.
// ErrHomeInUse.
func RemoveHome(state, workspace string) error {
	return removeHome(filepath.Dir(HomeOf(state, workspace)))
}

func removeHome(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	home := filepath.Join(dir, homeName)
	if err := ResetHome(home); err != nil {
		return err
	}
	for _, at := range []string{home, filepath.Join(dir, ownerName), dir} {
		if err := atomicfile.Remove(at); err != nil {
			return err
		}
	}
	return nil
}

// ErrHomeInUse says that a box shows a home directory.
var ErrHomeInUse = errors.New("a sandbox uses this home directory")

// ResetHome removes everything in the home directory of boxes, and keeps the
// directory. It returns ErrHomeInUse if a box uses it, and nil if it does not exist.
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
