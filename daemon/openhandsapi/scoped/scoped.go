// Package scoped serves routes of files, git, the editor and shell commands below a conversation,
// for paths in its workspace. Its commands have a history of their own. It adds no rights: the
// same paths and commands are served without the conversation.
package scoped

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shell"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/subpath"
	"github.com/ohgw/ohgw/internal/uuid"
)

// conversation is the conversation in the paths of the routes.
const conversation = "/api/conversations/{id}"

// Config is what the routes need. All fields are required.
type Config struct {
	// Workspace is the directory of a conversation.
	Workspace func(ctx context.Context, id string) (dir string, err error)
	// Log is the directory of what is kept of a conversation.
	Log func(id string) (dir string, err error)
	// Commands runs shell commands.
	Commands *shell.Shell
	// Served are the routes that answer. Those that are not below a conversation with an
	// agent-server are passed over.
	Served []wire.Route
}

// paths are the paths below /api of routes that are also below a conversation.
func paths() []string {
	return []string{
		"file/upload", "file/download", "file/create_directory", "file/archive", "file/download-trajectory/{id}",
		"git/changes", "git/diff", "git/commits", "git/commits/{sha}/changes",
		"vscode/url", "vscode/status",
	}
}

// Routes lists the routes below a conversation. Each refuses an unknown conversation before it
// answers.
func Routes(cfg Config) []wire.Route {
	s := &server{cfg}
	var list []wire.Route
	for _, route := range cfg.Served {
		path, ok := strings.CutPrefix(route.Path, "/api/")
		if !ok || !slices.Contains(paths(), path) {
			continue
		}
		answer := route.Handle
		route.Path = conversation + "/" + strings.Replace(path, "{id}", "{conversation_id}", 1)
		route.Summary += inWorkspace
		route.Handle = func(w http.ResponseWriter, r *http.Request) error {
			if _, _, err := s.check(r); err != nil {
				return err
			}
			return answer(w, r)
		}
		list = append(list, route)
	}
	return append(list, s.Commands.Below(conversation+"/bash", inWorkspace, s.commands)...)
}

// inWorkspace is what the summaries of the routes end with.
const inWorkspace = ", in the workspace of a conversation"

type server struct{ Config }

// commands is where the commands of a conversation run, and where their events are kept: with
// the conversation, as OpenHands does it.
func (s *server) commands(r *http.Request) (shell.Place, error) {
	id, dir, err := s.check(r)
	if err != nil {
		return shell.Place{}, err
	}
	log, err := s.Log(id)
	if err != nil {
		return shell.Place{}, notThere(id, err)
	}
	return shell.Place{ID: id, Dir: dir, Events: filepath.Join(log, "bash_events")}, nil
}

// check refuses paths outside of the workspace, and the log of another conversation. It
// returns the conversation and its workspace.
func (s *server) check(r *http.Request) (id, dir string, err error) {
	if id, err = wire.ParseID(r.PathValue("id"), "path", "runtime_conversation_id"); err != nil {
		return "", "", err
	}
	if dir, err = s.Workspace(r.Context(), id); err != nil {
		return "", "", notThere(id, err)
	}
	for _, name := range []string{"path", "workspace_dir"} {
		if q := r.URL.Query(); q.Has(name) && !subpath.Inside(dir, q.Get(name)) {
			return "", "", wire.Refuse(http.StatusUnprocessableEntity, "%s must be inside the conversation workspace", name)
		}
	}
	other := r.PathValue("conversation_id")
	if other == "" {
		return id, dir, nil
	}
	switch named, err := uuid.Parse(other); {
	case err != nil:
		return "", "", wire.Refuse(http.StatusUnprocessableEntity, "Invalid trajectory conversation id")
	case named != id:
		return "", "", wire.Refuse(http.StatusUnprocessableEntity, "Trajectory must belong to the selected conversation")
	}
	return id, dir, nil
}

// notThere returns err; the answer for an unknown conversation names it.
func notThere(id string, err error) error {
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		return &wire.Error{Status: http.StatusNotFound, Detail: "Conversation not found: " + id, Err: err}
	}
	return err
}
