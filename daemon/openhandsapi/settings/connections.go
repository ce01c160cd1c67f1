package settings

import (
	"net/http"
	"slices"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

func (s *server) connectionRoutes() []wire.Route {
	const path, one = "/api/llm/provider-connections", "/api/llm/provider-connections/{connection_id}"
	return []wire.Route{
		{Method: http.MethodGet, Path: path, Summary: "Keys and URLs that LLM profiles share", Handle: list(s.Store.Connections.List)},
		{Method: http.MethodPost, Path: path, Summary: "Store a provider connection", Body: true, Handle: answer(http.StatusCreated, s.addConnection)},
		{Method: http.MethodPatch, Path: one, Summary: "Change a provider connection", Body: true, Handle: answer(http.StatusOK, s.patchConnection)},
		{Method: http.MethodDelete, Path: one, Summary: "Delete a provider connection", Handle: answer(http.StatusOK, s.removeConnection)},
	}
}

func (s *server) addConnection(r *http.Request) (any, error) {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return nil, err
	}
	if o.Need("display_name") && !o.Has("display_name") {
		notText(o, "display_name")
	}
	c := openhands.ConnectionChange{Name: o.Text("display_name", 1, longestName)}
	if !o.Has("provider") && slices.Contains(o.Names(), "provider") {
		notText(o, "provider")
	}
	c.Provider = o.Text("provider", 1, longestName)
	if o.Need("api_key") && !o.Has("api_key") {
		notText(o, "api_key")
	}
	c.Key = key(o, 1)
	change, err := restOfConnection(o, c)
	if err != nil {
		return nil, err
	}
	return s.Store.Connections.Add(r.Context(), change)
}

func (s *server) patchConnection(r *http.Request) (any, error) {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return nil, err
	}
	c := openhands.ConnectionChange{Name: o.Text("display_name", 1, longestName), Provider: o.Text("provider", 1, longestName), Key: key(o, 0)}
	change, err := restOfConnection(o, c)
	if err != nil {
		return nil, err
	}
	given := o.Names()
	for _, name := range []string{"display_name", "provider"} {
		if slices.Contains(given, name) && !o.Has(name) {
			o.Value("", name+" cannot be set to null")
			return nil, o.Err()
		}
	}
	switch {
	case len(given) == 0:
		return nil, wire.Refuse(http.StatusUnprocessableEntity, "Provide at least one provider connection field to update")
	case slices.Contains(given, "api_key") && !o.Has("api_key"):
		return nil, wire.Refuse(http.StatusUnprocessableEntity, "api_key cannot be cleared; provide a new key to rotate it")
	}
	return s.Store.Connections.Patch(r.Context(), r.PathValue("connection_id"), change)
}

func (s *server) removeConnection(r *http.Request) (any, error) {
	return s.Store.Connections.Remove(r.Context(), r.PathValue("connection_id"))
}

// The highest numbers of characters of a connection's texts.
const (
	longestName = 128
	longestURL  = 2048
)

// restOfConnection reads what is the same in all bodies, and reports all that is wrong.
func restOfConnection(o *pydantic.Object, c openhands.ConnectionChange) (openhands.ConnectionChange, error) {
	c.BaseURL, c.SetBaseURL = o.Text("base_url", 0, longestURL), slices.Contains(o.Names(), "base_url")
	o.Only("display_name", "provider", "api_key", "base_url")
	return c, o.Err()
}

// key is the key of a connection. No error shows it.
func key(o *pydantic.Object, shortest int) *string {
	text := o.Text("api_key", 0, -1)
	switch {
	case text == nil:
		return nil
	case len(*text) < shortest:
		o.Wrong("api_key", pydantic.TooShort("Value", shortest, 0))
	case !realSecret(*text):
		o.Value("api_key", "api_key must be a real key, not blank or redacted")
	default:
		return text
	}
	return nil
}

func notText(o *pydantic.Object, field string) {
	o.Wrong(field, pydantic.NoText())
}
