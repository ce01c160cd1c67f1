package settings

import (
	"io"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/pattern"
)

func (s *server) secretRoutes() []wire.Route {
	const path, one = "/api/settings/secrets", "/api/settings/secrets/{name}"
	return []wire.Route{
		{Method: http.MethodGet, Path: path, Summary: "Names of the secrets", Handle: answer(http.StatusOK, s.secrets)},
		{Method: http.MethodPut, Path: path, Summary: "Store a secret", Body: true, Handle: answer(http.StatusOK, s.setSecret)},
		{Method: http.MethodGet, Path: one, Summary: "The value of a secret, as text", Handle: s.secret},
		{Method: http.MethodDelete, Path: one, Summary: "Delete a secret", Handle: answer(http.StatusOK, s.removeSecret)},
	}
}

var secretName = pattern.Of(`\A[a-zA-Z][a-zA-Z0-9_]{0,63}\z`)

func checkSecretName(name string) error {
	if secretName().MatchString(name) {
		return nil
	}
	return wire.Refuse(http.StatusUnprocessableEntity, "Invalid secret name format. Must start with a letter, "+
		"contain only letters, numbers, and underscores, and be 1-64 characters long.")
}

func (s *server) secrets(r *http.Request) (any, error) {
	list, err := s.Store.Secrets.List(r.Context())
	if err != nil {
		return nil, err
	}
	return map[string]any{"secrets": list}, nil
}

// realSecret reports whether a value is one, and not what stands in its place.
func realSecret(value string) bool {
	value = strings.TrimSpace(value)
	return value != "" && value != hidden.Redacted
}

func (s *server) setSecret(r *http.Request) (any, error) {
	var body struct {
		Name        *string `json:"name"`
		Value       *string `json:"value"`
		Description *string `json:"description"`
	}
	if err := wire.ReadBody(r, &body, false); err != nil {
		return nil, err
	}
	switch {
	case body.Name == nil:
		return nil, missing("name")
	case body.Value == nil:
		return nil, missing("value")
	}
	if err := checkSecretName(*body.Name); err != nil {
		return nil, err
	}
	if !realSecret(*body.Value) {
		return nil, wire.Refuse(http.StatusUnprocessableEntity, "Secret value must not be empty or redacted")
	}
	if err := s.Store.Secrets.Set(r.Context(), *body.Name, *body.Value, body.Description); err != nil {
		return nil, err
	}
	return openhands.SecretInfo{Name: *body.Name, Description: body.Description}, nil
}

func (s *server) secret(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := checkSecretName(name); err != nil {
		return err
	}
	value, err := s.Store.Secrets.Get(r.Context(), name)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = io.WriteString(w, value)
	return nil
}

func (s *server) removeSecret(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if err := checkSecretName(name); err != nil {
		return nil, err
	}
	if err := s.Store.Secrets.Remove(r.Context(), name); err != nil {
		return nil, err
	}
	return map[string]bool{"deleted": true}, nil
}
