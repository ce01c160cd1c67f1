package settings

import (
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/openhands"
)

func (s *server) connectionRoutes() []wire.Route {
	const path, one = "/api/llm/provider-connections", "/api/llm/provider-connections/{connection_id}"
	return []wire.Route{
		{Method: http.MethodGet, Path: path, Summary: "Keys and URLs that LLM profiles share", Handle: s.connections},
		{Method: http.MethodPost, Path: path, Summary: "Store a provider connection", Body: true, Handle: s.addConnection},
		{Method: http.MethodPatch, Path: one, Summary: "Change a provider connection", Body: true, Handle: s.patchConnection},
		{Method: http.MethodDelete, Path: one, Summary: "Delete a provider connection", Handle: s.removeConnection},
	}
}

func (s *server) connections(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Store.Connections(r.Context())
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, list)
	return nil
}

func (s *server) addConnection(w http.ResponseWriter, r *http.Request) error {
	change, given, err := readConnection(r)
	if err != nil {
		return err
	}
	for _, field := range []string{"display_name", "api_key"} {
		if !given[field] {
			return missing(field)
		}
	}
	if change.Key == nil {
		return notText("api_key")
	}
	made, err := s.Store.AddConnection(r.Context(), change)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusCreated, made)
	return nil
}

func (s *server) patchConnection(w http.ResponseWriter, r *http.Request) error {
	change, given, err := readConnection(r)
	if err != nil {
		return err
	}
	switch {
	case len(given) == 0:
		return wire.Refuse(http.StatusUnprocessableEntity, "Provide at least one provider connection field to update")
	case given["api_key"] && change.Key == nil:
		return wire.Refuse(http.StatusUnprocessableEntity, "api_key cannot be cleared; provide a new key to rotate it")
	}
	made, err := s.Store.PatchConnection(r.Context(), r.PathValue("connection_id"), change)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, made)
	return nil
}

func (s *server) removeConnection(w http.ResponseWriter, r *http.Request) error {
	gone, err := s.Store.RemoveConnection(r.Context(), r.PathValue("connection_id"))
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, gone)
	return nil
}

// readConnection reads a body, and says which members it has.
func readConnection(r *http.Request) (openhands.ConnectionChange, map[string]bool, error) {
	var c openhands.ConnectionChange
	var body map[string]json.RawMessage
	if err := wire.ReadBody(r, &body, false); err != nil {
		return c, nil, err
	}
	fields := map[string]struct {
		into     **string
		longest  int
		shortest int
	}{
		"display_name": {&c.Name, 128, 1}, "provider": {&c.Provider, 128, 1}, "api_key": {&c.Key, 0, 1}, "base_url": {&c.BaseURL, 2048, 0},
	}
	given := make(map[string]bool, len(body))
	for name, raw := range body {
		f, known := fields[name]
		if !known {
			return c, nil, wire.Unprocessable(wire.Invalid{Type: "extra_forbidden", Loc: []any{"body", name}, Msg: "Extra inputs are not permitted"})
		}
		given[name] = true
		if err := wire.Decode(raw, f.into, "body", name); err != nil {
			return c, nil, err
		}
		if *f.into == nil {
			if name != "display_name" && name != "provider" {
				continue
			}
			if r.Method == http.MethodPatch {
				return c, nil, wire.Unprocessable(wire.Invalid{Type: "value_error", Loc: []any{"body"}, Msg: "Value error, " + name + " cannot be set to null"})
			}
			return c, nil, notText(name)
		}
		if err := checkLength(**f.into, f.shortest, f.longest, name); err != nil {
			return c, nil, err
		}
	}
	c.SetBaseURL = given["base_url"]
	return c, given, nil
}

func notText(field string) error {
	return wire.Unprocessable(wire.Invalid{Type: "string_type", Loc: []any{"body", field}, Msg: "Input should be a valid string"})
}

// checkLength never shows the text, which may be a key.
func checkLength(text string, shortest, longest int, field string) error {
	n := utf8.RuneCountInString(text)
	switch {
	case field == "api_key" && !realSecret(text):
		return wire.Unprocessable(wire.Invalid{Type: "value_error", Loc: []any{"body", field}, Msg: "Value error, api_key must be a real key, not blank or redacted"})
	case n < shortest:
		return wire.Unprocessable(wire.Invalid{Type: "string_too_short", Loc: []any{"body", field}, Msg: "String should have at least 1 character"})
	case longest > 0 && n > longest:
		return wire.Unprocessable(wire.Invalid{Type: "string_too_long", Loc: []any{"body", field}, Msg: fmt.Sprintf("String should have at most %d characters", longest)})
	}
	return nil
}
