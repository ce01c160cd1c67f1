package settings

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/pattern"
)

func (s *server) valueRoutes() []wire.Route {
	const path, servers = "/api/settings", "/api/settings/mcp/{settings_key}"
	agent, conversation := openhands.Forms()
	return []wire.Route{
		{Method: http.MethodGet, Path: path, Summary: "The settings; X-Expose-Secrets says how secrets are shown", Handle: answer(http.StatusOK, s.values)},
		{Method: http.MethodPatch, Path: path, Summary: "Change settings by merge patches", Body: true, Handle: answer(http.StatusOK, s.patch)},
		{Method: http.MethodGet, Path: path + "/agent-schema", Summary: "What a form of agent_settings has", Handle: answerForm(agent)},
		{Method: http.MethodGet, Path: path + "/conversation-schema", Summary: "What a form of conversation_settings has", Handle: answerForm(conversation)},
		{Method: http.MethodPost, Path: servers, Summary: "Add an MCP server", Body: true, Handle: answer(http.StatusCreated, s.addServer)},
		{Method: http.MethodPatch, Path: servers, Summary: "Change an MCP server by a merge patch", Body: true, Handle: answer(http.StatusOK, s.patchServer)},
		{Method: http.MethodDelete, Path: servers, Summary: "Remove an MCP server", Handle: answer(http.StatusOK, s.removeServer)},
	}
}

func answerForm(form openhands.Form) wire.Handler {
	return answer(http.StatusOK, func(*http.Request) (openhands.Form, error) { return form, nil })
}

func (s *server) values(r *http.Request) (any, error) {
	e, err := exposure(r)
	if err != nil {
		return nil, err
	}
	values, err := s.Store.Settings.Get(r.Context(), e)
	if err != nil {
		return nil, err
	}
	if e == openhands.Clear {
		s.Logger.WarnContext(r.Context(), "settings were read with their secrets in clear text")
	}
	return values, nil
}

// uuidPattern is that of the ids of agent profiles.
const uuidPattern = `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`

var profileID = pattern.Of(uuidPattern)

func (s *server) patch(r *http.Request) (any, error) {
	p, err := readPatch(r)
	if err != nil {
		return nil, err
	}
	return s.Store.Settings.Patch(r.Context(), p)
}

// readPatch reads the body of a change. A diff that is null changes nothing; a name
// that is null clears the pointer.
func readPatch(r *http.Request) (openhands.Patch, error) {
	var body map[string]json.RawMessage
	if err := wire.ReadBody(r, &body, false); err != nil {
		return openhands.Patch{}, err
	}
	var p openhands.Patch
	for name, into := range map[string]*map[string]any{
		"agent_settings_diff": &p.Agent, "conversation_settings_diff": &p.Conversation, "misc_settings_diff": &p.Misc,
	} {
		if err := decodeObject(body[name], into, "body", name); err != nil {
			return p, err
		}
	}
	var err error
	if p.Active, p.SetActive, err = pointer(body, "active_profile", profileName(), namePattern); err != nil {
		return p, err
	}
	if p.ActiveAgent, p.SetActiveAgent, err = pointer(body, "active_agent_profile_id", profileID(), uuidPattern); err != nil {
		return p, err
	}
	if p.ActiveMeta, p.SetActiveMeta, err = pointer(body, "active_meta_profile", profileName(), namePattern); err != nil {
		return p, err
	}
	if p.Agent == nil && p.Conversation == nil && p.Misc == nil && !p.SetActive && !p.SetActiveAgent && !p.SetActiveMeta {
		return p, wire.Refuse(http.StatusBadRequest, "At least one of agent_settings_diff, conversation_settings_diff, "+
			"misc_settings_diff, active_profile, active_agent_profile_id, or active_meta_profile must be provided")
	}
	return p, nil
}

// decodeObject reads an object, if there is one. Numbers keep their spelling.
func decodeObject(raw json.RawMessage, into *map[string]any, loc ...any) error {
	if raw == nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(into) != nil {
		return pydantic.Refuse(pydantic.NoDict().At(loc, nil))
	}
	return nil
}

// pointer reads a name that may be null, if it is there.
func pointer(body map[string]json.RawMessage, field string, form *regexp.Regexp, of string) (name *string, set bool, err error) {
	raw, set := body[field]
	if !set {
		return nil, false, nil
	}
	if err := pydantic.Decode(raw, &name, "body", field); err != nil {
		return nil, false, err
	}
	if name != nil && !form.MatchString(*name) {
		return nil, false, mismatch(of, *name, "body", field)
	}
	return name, true, nil
}

func (s *server) addServer(r *http.Request) (any, error) {
	body, err := wire.ReadObject(r, false)
	if err != nil {
		return nil, err
	}
	return s.Store.Servers.Add(r.Context(), r.PathValue("settings_key"), body.JSON())
}

func (s *server) patchServer(r *http.Request) (any, error) {
	var patch json.RawMessage
	if err := wire.ReadBody(r, &patch, false); err != nil {
		return nil, err
	}
	return s.Store.Servers.Patch(r.Context(), r.PathValue("settings_key"), patch)
}

func (s *server) removeServer(r *http.Request) (any, error) {
	return s.Store.Servers.Remove(r.Context(), r.PathValue("settings_key"))
}
