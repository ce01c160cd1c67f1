package boxpool

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/subpath"
)

// outsideError says why no box shows a path.
type outsideError struct{ why string }

func (e *outsideError) Error() string { return e.why }

// Unwrap says what kind of error it is.
func (e *outsideError) Unwrap() error { return sandbox.ErrOutside }

// workspaceOf chooses the workspace of a directory, which has no links; nor has the
// result.
func (pool *Pool) workspaceOf(dir, base string) (string, error) {
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", err
	}
	switch {
	case subpath.Within(pool.realWorktrees(), dir):
		return pool.worktreeAt(dir), nil
	case pool.Only != "" && !subpath.Within(base, dir):
		return "", &outsideError{dir + " is outside of " + pool.Only + ", where all conversations of this ohgw work (ohgw serve --workspace)"}
	case pool.Only != "" || subpath.Within(base, dir):
		return base, nil
	}
	for up := range subpath.Up(dir) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil && pool.Manager.Check(up) == nil {
			return up, nil
		}
	}
	err = pool.Manager.Check(dir)
	if home, ok := errors.AsType[*boxes.HomeError](err); ok && subpath.Within(home.Home, dir) {
		return "", &outsideError{"the sandbox keeps clients out of your home directory; name a directory of one project in it"}
	}
	if err != nil {
		return base, nil // it cannot be a workspace, so another one is it
	}
	return dir, nil
}

// locate finds the innermost directory of a path that exists, and the path; neither
// has a link, but what is at the path may be one to a file.
func locate(path string) (dir, at string, err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if info, err := os.Stat(real); err != nil || info.IsDir() {
			return real, real, err
		}
	}
	above, rest, err := subpath.Existing(filepath.Dir(path))
	if err != nil {
		return "", "", err
	}
	dir = above
	if info, err := os.Stat(above); err == nil && !info.IsDir() {
		dir = filepath.Dir(above)
	}
	return dir, filepath.Join(above, rest, filepath.Base(path)), nil
}
