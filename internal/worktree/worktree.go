// Package worktree gives an agent a working tree of its own of a git repository, and keeps
// what the agent leaves there on a branch of the repository.
//
// A tree borrows the objects of the repository and has its own configuration, references
// and index. The agent changes nothing of the repository by it: the branch is fetched when
// the agent has ended. Git runs in boxes only, so no program that the repository or the
// agent has set up runs outside of one. Three things hold:
//   - HEAD, the index and the files of the repository stay as they are.
//   - A branch is created or moved forward. Nothing on it is ever lost.
//   - A tree is removed only when a branch has everything that git keeps of it.
package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// Tree is a working tree, which need not be there.
type Tree struct {
	Repository string   // the directory that has .git in it
	Dir        string   // where the tree is; the directory above it belongs to the tree alone
	Branch     string   // that gets what is left in the tree
	Older      []string // branches by which a tree begins that has no branch yet
	// Box makes the box of a workspace, with the environment of programs in it. It shows
	// other directories, which have no links, read-only.
	Box func(ctx context.Context, workspace string, shown ...string) (sandbox.Box, []string, error)
}

// Error is why there can be no tree of a repository, in words for people.
type Error struct {
	Msg string
	Err error // the cause; nil: there is no other
}

// Error is the message.
func (e *Error) Error() string { return e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Check refuses a directory of which no tree can be made, as far as this shows without git.
func Check(repository string) error {
	for _, name := range []string{".git", ".git/objects"} {
		info, err := os.Lstat(filepath.Join(repository, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &Error{Msg: "the workspace is not the top directory of a git repository; run: git init, and commit its files", Err: err}
		case err != nil:
			return &Error{Msg: "the git repository of the workspace cannot be read", Err: err}
		case !info.IsDir():
			return &Error{Msg: "the workspace is a worktree or a submodule itself; use the repository that it belongs to"}
		}
	}
	return nil
}

// Objects is the directory of the repository that the box of the agent has to show, without
// links.
func (t Tree) Objects() (string, error) {
	if err := Check(t.Repository); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(t.Repository)
	return filepath.Join(real, ".git", "objects"), err
}

// mark is the file that says that the tree was made: an agent may have worked in it.
func (t Tree) mark() string { return filepath.Dir(t.Dir) + ".made" }

// Left reports whether there is a tree in which an agent may have worked.
func (t Tree) Left() bool {
	_, err := os.Lstat(t.mark())
	return err == nil
}

// remove removes the tree. The mark goes first: what is left after a crash must not be taken
// for the work of an agent that has removed files.
func (t Tree) remove() error {
	if err := os.Remove(t.mark()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(t.Dir)
	// What is in a directory without the right to write could not be removed. Errors are
	// those of RemoveAll, too.
	if root, err := os.OpenRoot(above); err == nil {
		_ = filepath.WalkDir(above, func(at string, d fs.DirEntry, err error) error {
			if rel, relErr := filepath.Rel(above, at); relErr == nil && d != nil && d.IsDir() && rel != "." {
				_ = root.Chmod(rel, 0o700)
			}
			return nil
		})
		_ = root.Close()
	}
	return os.RemoveAll(above)
}

// maxBranches is how many names are tried for the branch: the first may be one that a person
// has moved, or checked out.
const maxBranches = 9

// names are the names of a branch in the order in which they are tried.
func names(branch string) []string {
	all := []string{branch}
	for n := 2; n <= maxBranches; n++ {
		all = append(all, branch+"-"+strconv.Itoa(n))
	}
	return all
}

// heads is the place of branches among the references.
const heads = "refs/heads/"
