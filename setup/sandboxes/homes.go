package sandboxes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/delegation"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/subpath"
	"github.com/ohgw/ohgw/internal/uuid"
)

// homes are the home directories of the sandboxes of workspaces that ohgw has made, each
// for one conversation.
type homes struct{ state, workspaces, conversations string }

// SweepHomes begins to remove the home directories that are left over, and lets Tidy
// remove others.
func (b *Boxes) SweepHomes(dirs paths.Set, conversations string) {
	b.homes = &homes{state: dirs.State, workspaces: dirs.Workspaces(), conversations: conversations}
	b.Sweep(b.homes.gone, b.homes.used)
}

// Tidy removes what sandboxes keep for a workspace that is about to be removed with its
// conversation.
func (b *Boxes) Tidy(workspace string) error {
	if b.homes == nil {
		return nil
	}
	root, err := filepath.EvalSymlinks(filepath.Dir(workspace))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	return boxes.RemoveHome(b.homes.state, filepath.Join(root, filepath.Base(workspace)))
}

// gone says that a workspace was one of ohgw's own, and that neither the workspace nor
// its conversation is there any more.
func (h homes) gone(workspace string) bool {
	if h.goneTree(workspace) {
		return true
	}
	root, err := filepath.EvalSymlinks(h.workspaces)
	id := filepath.Base(workspace)
	if clean, parseErr := uuid.Parse(id); err != nil || parseErr != nil || clean != id || filepath.Dir(workspace) != root {
		return false
	}
	for _, at := range []string{workspace, store.Path(h.conversations, id)} {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// goneTree says that a workspace was the worktree of a member of a team, and that its
// conversation is not there any more. Without that, the member may begin again.
func (h homes) goneTree(workspace string) bool {
	root, err := filepath.EvalSymlinks(h.conversations)
	rel, inside := subpath.Rel(root, workspace)
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if err != nil || !inside || len(parts) != 4 || parts[1] != delegation.Worktrees {
		return false
	}
	_, err = os.Lstat(filepath.Join(root, parts[0]))
	return errors.Is(err, fs.ErrNotExist)
}

// used are the workspaces of the conversations that there are, and those of ohgw's own.
func (h homes) used() ([]string, error) {
	workspaces, err := store.Workspaces(h.conversations)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(h.workspaces)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		workspaces = append(workspaces, filepath.Join(h.workspaces, entry.Name()))
	}
	return workspaces, nil
}
