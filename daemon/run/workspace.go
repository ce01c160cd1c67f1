package run

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/internal/workdir"
)

// workspace is the directory of a new conversation.
func (m *Manager) workspace(id string) string {
	if m.cfg.Workspace != "" || m.cfg.WorkspaceRoot == "" {
		return m.cfg.Workspace
	}
	return filepath.Join(m.cfg.WorkspaceRoot, id)
}

// sameWorkspace refuses a conversation that works in another directory than the
// one that the client named. Where its directory is not known, the name has no
// effect.
func (j *job) sameWorkspace(info agentapi.Info) error {
	switch {
	case !j.req.Named:
	case info.Workspace == "":
		j.delivery.ignore(IgnoredWorkspace)
	case !workdir.Same(info.Workspace, j.req.Workspace):
		return &WorkspaceError{Have: info.Workspace}
	case info.ReadOnly && !j.req.ReadOnly:
		return &WorkspaceError{Have: info.Workspace, ReadOnly: true}
	}
	return nil
}

// removeWorkspace removes the directory that was made for conversation id, if
// there is one. It never touches a directory that a person chose.
func (m *Manager) removeWorkspace(id string) error {
	if m.cfg.Workspace != "" || m.cfg.WorkspaceRoot == "" {
		return nil
	}
	if clean, err := uuid.Parse(id); err != nil || clean != id {
		return fmt.Errorf("remove workspace %q: %w", id, uuid.ErrMalformed)
	}
	at := filepath.Join(m.cfg.WorkspaceRoot, id)
	if m.cfg.Tidy != nil {
		if err := m.cfg.Tidy(at); err != nil {
			// The conversation is gone: the next start looks for what is left.
			m.cfg.Logger.Warn("cannot remove what the sandbox kept for a workspace", "workspace", at, "err", err)
		}
	}
	if err := os.RemoveAll(at); err != nil {
		return fmt.Errorf("remove workspace: %w", err)
	}
	return nil
}
