package conversations

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// sealedPrefix begins every secret that an agent-server has encrypted.
const sealedPrefix = "gAAAAA"

func (s *server) secrets(w http.ResponseWriter, r *http.Request) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	o.Need("secrets")
	sources := readSecrets(o, true)
	if err := o.Err(); err != nil {
		return err
	}
	return s.on(func(ctx context.Context, c control.Conversation) error { return c.AddSecrets(ctx, sources) })(w, r)
}

// readSecrets reads the sources of secrets by name. Where short forms are allowed, a
// string is the value of a secret, and so is an object with no kind.
func readSecrets(o *pydantic.Object, short bool) map[string]json.RawMessage {
	in := o.Map("secrets")
	if in == nil {
		return nil
	}
	sources := make(map[string]json.RawMessage)
	for _, name := range in.Names() {
		var text string
		if short && json.Unmarshal(in.Raw(name), &text) == nil && in.Has(name) {
			sources[name] = encoded(map[string]any{"kind": "StaticSecret", "value": text})
			continue
		}
		if !in.Has(name) {
			in.Wrong(name, pydantic.NoObject())
			continue
		}
		if source := in.Object(name); source != nil {
			sources[name] = readSource(source, short)
		}
	}
	return sources
}

func readSource(o *pydantic.Object, short bool) json.RawMessage {
	kind := "StaticSecret"
	if !short || o.Has("kind") || !o.Has("value") {
		var ok bool
		if kind, ok = o.Kinds("openhands.sdk.secret.secrets.SecretSource", "LookupSecret", "StaticSecret"); !ok {
			return nil
		}
	}
	source := map[string]any{"kind": kind, "description": o.Raw("description")}
	o.Text("description", 0, -1)
	if kind == "StaticSecret" {
		o.Text("value", 0, -1)
		source["value"] = o.Raw("value")
		return encoded(source)
	}
	o.Need("url")
	o.Text("url", 0, -1)
	source["url"] = o.Raw("url")
	if headers := o.Map("headers"); headers != nil {
		for _, name := range headers.Names() {
			headers.Text(name, 0, -1)
		}
		source["headers"] = headers.JSON()
	}
	return encoded(source)
}

// unsealed is JSON with each encrypted string decrypted. One that was encrypted with
// another key stays as it is.
func (s *server) unsealed(raw json.RawMessage) (json.RawMessage, error) {
	if !strings.Contains(string(raw), sealedPrefix) {
		return raw, nil
	}
	if s.Unseal == nil {
		return nil, wire.Refuse(http.StatusServiceUnavailable, "There is no secret key to decrypt secrets with; set OH_SECRET_KEY.")
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return encoded(s.open(v)), nil
}

func (s *server) open(v any) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, sealedPrefix) {
			if value, err := s.Unseal(v); err == nil {
				return value
			}
		}
	case []any:
		for i := range v {
			v[i] = s.open(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = s.open(v[name])
		}
	}
	return v
}

// encoded is what was read from JSON as JSON again.
func encoded(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return nil // cannot be: it was JSON
	}
	return data
}
