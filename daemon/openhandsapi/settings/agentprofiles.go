package settings

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

func (s *server) agentProfileRoutes() []wire.Route {
	const path, one = "/api/agent-profiles", "/api/agent-profiles/{name}"
	k := kind{"Agent profile", s.saveAgentProfile, s.Store.AgentProfiles.Remove, s.Store.AgentProfiles.Rename}
	return []wire.Route{
		{Method: http.MethodGet, Path: path, Summary: "Agent profiles; the first call makes one of the settings", Handle: list(s.Store.AgentProfiles.List)},
		{Method: http.MethodGet, Path: one, Summary: "One agent profile", Handle: byName(http.StatusOK, s.agentProfile)},
		{Method: http.MethodPost, Path: one, Summary: "Save an agent profile", Body: true, Handle: k.saved()},
		{Method: http.MethodDelete, Path: one, Summary: "Delete an agent profile", Handle: k.removed()},
		{Method: http.MethodPost, Path: one + "/rename", Summary: "Rename an agent profile", Body: true, Handle: k.renamed()},
		{
			Method: http.MethodPost, Path: "/api/agent-profiles/{profile_id}/activate", Summary: "Make an agent profile the active one",
			Handle: answer(http.StatusOK, s.activateAgentProfile),
		},
		{
			Method: http.MethodPost, Path: one + "/materialize", Summary: "What an agent profile would give",
			Body: true, Handle: byName(http.StatusOK, s.materialize),
		},
	}
}

func (s *server) agentProfile(r *http.Request, name string) (any, error) {
	found, err := s.Store.AgentProfiles.Get(r.Context(), name)
	return map[string]any{"name": name, "profile": found}, err
}

func (s *server) saveAgentProfile(r *http.Request, name string) error {
	var raw json.RawMessage
	if err := wire.ReadBody(r, &raw, false); err != nil {
		return err
	}
	var members map[string]any
	if err := decodeObject(raw, &members, "body"); err != nil {
		return err
	}
	if members == nil {
		return pydantic.Refuse(pydantic.NoDict().At([]any{"body"}, nil))
	}
	return s.Store.AgentProfiles.Save(r.Context(), name, members)
}

// materialize reports what an agent profile would give. The body may have a draft, which
// takes the place of the stored one.
func (s *server) materialize(r *http.Request, name string) (openhands.Diagnosis, error) {
	var raw json.RawMessage
	if err := wire.ReadBody(r, &raw, true); err != nil {
		return openhands.Diagnosis{}, err
	}
	if raw == nil || string(raw) == "null" {
		return s.Store.AgentProfiles.Diagnose(r.Context(), name, nil)
	}
	o, err := pydantic.NewObject(raw, "body")
	if err != nil {
		return openhands.Diagnosis{}, err
	}
	draft := o.Raw("profile")
	if draft != nil && draft[0] != '{' {
		o.Value("profile", "profile must be an object")
	}
	o.Only("profile")
	if err := o.Err(); err != nil {
		return openhands.Diagnosis{}, err
	}
	var members map[string]any
	if err := decodeObject(draft, &members, "body", "profile"); err != nil {
		return openhands.Diagnosis{}, err
	}
	return s.Store.AgentProfiles.Diagnose(r.Context(), name, members)
}

// maxID is how many characters the id of an agent profile may have.
const maxID = 128

func (s *server) activateAgentProfile(r *http.Request) (any, error) {
	id := r.PathValue("profile_id")
	if _, err := pydantic.Plain(id, []any{"path", "profile_id"}, pydantic.Text{Max: maxID}.Read); err != nil {
		return nil, err
	}
	return map[string]any{
		"id": id, "message": fmt.Sprintf("Agent profile '%s' activated", id), "agent_settings_applied": false,
	}, s.Store.AgentProfiles.Activate(r.Context(), id)
}
