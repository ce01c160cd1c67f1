// Package scoped serves routes of files and of git below a conversation, for paths in its
// workspace. It adds no rights: the same paths are served without the conversation.
package scoped

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
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
	// Served are the routes that answer. Those that are not below a conversation with an
	// agent-server are passed over.
	Served []wire.Route
}

// paths are the paths below /api of routes that are also below a conversation.
func paths() []string {
	return []string{
		"file/upload", "file/download", "file/create_directory", "file/archive", "file/download-trajectory/{id}",
		"git/changes", "git/diff", "git/commits", "git/commits/{sha}/changes",
	}
}

// Routes are those below a conversation.
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
		route.Summary += ", in the workspace of a conversation"
		route.Handle = func(w http.ResponseWriter, r *http.Request) error {
			if err := s.check(r); err != nil {
				return err
			}
			return answer(w, r)
		}
		list = append(list, route)
	}
	return list
}

type server struct{ Config }

// check refuses paths outside of the workspace, and the log of another conversation.
func (s *server) check(r *http.Request) error {
	id, err := wire.ParseID(r.PathValue("id"), "path", "runtime_conversation_id")
	if err != nil {
		return err
	}
	dir, err := s.Workspace(r.Context(), id)
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		return &wire.Error{Status: http.StatusNotFound, Detail: "Conversation not found: " + id, Err: err}
	}
	if err != nil {
		return err
	}
	if q := r.URL.Query(); q.Has("path") && !subpath.Inside(dir, q.Get("path")) {
		return wire.Refuse(http.StatusUnprocessableEntity, "path must be inside the conversation workspace")
	}
	other := r.PathValue("conversation_id")
	if other == "" {
		return nil
	}
	switch named, err := uuid.Parse(other); {
	case err != nil:
		return wire.Refuse(http.StatusUnprocessableEntity, "Invalid trajectory conversation id")
	case named != id:
		return wire.Refuse(http.StatusUnprocessableEntity, "Trajectory must belong to the selected conversation")
	}
	return nil
}
