package settings

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

func (s *server) agentProfileRoutes() []wire.Route {
	const path, one = "/api/agent-profiles", "/api/agent-profiles/{name}"
	return []wire.Route{
		{Method: http.MethodGet, Path: path, Summary: "Agent profiles; the first call makes one of the settings", Handle: s.agentProfiles},
		{Method: http.MethodGet, Path: one, Summary: "One agent profile", Handle: s.agentProfile},
		{Method: http.MethodPost, Path: one, Summary: "Save an agent profile", Body: true, Handle: s.saveAgentProfile},
		{Method: http.MethodDelete, Path: one, Summary: "Delete an agent profile", Handle: s.removeAgentProfile},
		{Method: http.MethodPost, Path: one + "/rename", Summary: "Rename an agent profile", Body: true, Handle: s.renameAgentProfile},
		{Method: http.MethodPost, Path: "/api/agent-profiles/{profile_id}/activate", Summary: "Make an agent profile the active one", Handle: s.activateAgentProfile},
		{Method: http.MethodPost, Path: one + "/materialize", Summary: "What an agent profile would give", Handle: s.diagnose},
	}
}

func (s *server) agentProfiles(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Store.AgentProfiles(r.Context())
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, list)
	return nil
}

func (s *server) agentProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	found, err := s.Store.AgentProfile(r.Context(), name)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"name": name, "profile": found})
	return nil
}

func (s *server) saveAgentProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := wire.ReadBody(r, &raw, false); err != nil {
		return err
	}
	var members map[string]any
	if err := decodeObject(raw, &members, "body"); err != nil {
		return err
	}
	if err := s.Store.SaveAgentProfile(r.Context(), name, members); err != nil {
		return err
	}
	return mutation(w, http.StatusCreated, name, fmt.Sprintf("Agent profile '%s' saved", name))
}

func (s *server) removeAgentProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	if err := s.Store.RemoveAgentProfile(r.Context(), name); err != nil {
		return err
	}
	return mutation(w, http.StatusOK, name, fmt.Sprintf("Agent profile '%s' deleted", name))
}

func (s *server) renameAgentProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	to, err := newName(r)
	if err != nil {
		return err
	}
	if err := s.Store.RenameAgentProfile(r.Context(), name, to); err != nil {
		return err
	}
	return mutation(w, http.StatusOK, to, renamed("Agent profile", name, to))
}

// maxID is how many characters the id of an agent profile may have.
const maxID = 128

func (s *server) activateAgentProfile(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("profile_id")
	if _, err := pydantic.Plain(id, []any{"path", "profile_id"}, pydantic.Text{Max: maxID}.Read); err != nil {
		return err
	}
	if err := s.Store.ActivateAgentProfile(r.Context(), id); err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{
		"id": id, "message": fmt.Sprintf("Agent profile '%s' activated", id), "agent_settings_applied": false,
	})
	return nil
}

func (s *server) diagnose(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	found, err := s.Store.Diagnose(r.Context(), name)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, found)
	return nil
}
