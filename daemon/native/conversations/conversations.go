// Package conversations serves the conversations of OpenHands' own API and their
// events.
package conversations

import (
	"log/slog"
	"net/http"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/native/wire"
)

// Config is what the routes need. Engine is required.
type Config struct {
	Engine control.Engine
	Logger *slog.Logger
}

// Routes are those below /api/conversations.
func Routes(cfg Config) []wire.Route {
	s := &server{cfg}
	return []wire.Route{
		{Method: http.MethodGet, Path: "/api/conversations/{id}", Summary: "One conversation", Query: []string{"include_skills"}, Handle: s.get},
	}
}

type server struct{ Config }

func (s *server) get(w http.ResponseWriter, r *http.Request) error {
	id, err := wire.ConversationID(r)
	if err != nil {
		return err
	}
	record, err := s.Engine.Record(r.Context(), id)
	if err != nil {
		return err
	}
	info, err := infoOf(record)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, info)
	return nil
}
