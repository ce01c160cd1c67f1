package settings

import (
	"io"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/pattern"
)

func (s *server) secretRoutes() []wire.Route {
	const path, one = "/api/settings/secrets", "/api/settings/secrets/{name}"
	return []wire.Route{
		{Method: http.MethodGet, Path: path, Summary: "Names of the secrets", Handle: s.secrets},
		{Method: http.MethodPut, Path: path, Summary: "Store a secret", Body: true, Handle: s.setSecret},
		{Method: http.MethodGet, Path: one, Summary: "The value of a secret, as text", Handle: s.secret},
		{Method: http.MethodDelete, Path: one, Summary: "Delete a secret", Handle: s.removeSecret},
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

func (s *server) secrets(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Store.Secrets(r.Context())
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"secrets": list})
	return nil
}

// realSecret reports whether a value is one, and not what stands in its place.
func realSecret(value string) bool {
	value = strings.TrimSpace(value)
	return value != "" && value != hidden.Redacted
}

func (s *server) setSecret(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Name        *string `json:"name"`
		Value       *string `json:"value"`
		Description *string `json:"description"`
	}
	if err := wire.ReadBody(r, &body, false); err != nil {
		return err
	}
	switch {
	case body.Name == nil:
		return missing("name")
	case body.Value == nil:
		return missing("value")
	}
	if err := checkSecretName(*body.Name); err != nil {
		return err
	}
	if !realSecret(*body.Value) {
		return wire.Refuse(http.StatusUnprocessableEntity, "Secret value must not be empty or redacted")
	}
	if err := s.Store.SetSecret(r.Context(), *body.Name, *body.Value, body.Description); err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, openhands.SecretInfo{Name: *body.Name, Description: body.Description})
	return nil
}

func (s *server) secret(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := checkSecretName(name); err != nil {
		return err
	}
	value, err := s.Store.Secret(r.Context(), name)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = io.WriteString(w, value)
	return nil
}

func (s *server) removeSecret(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := checkSecretName(name); err != nil {
		return err
	}
	if err := s.Store.RemoveSecret(r.Context(), name); err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]bool{"deleted": true})
	return nil
}
