package catalogue

import (
	"net/http"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// hooks reads the hooks of a project. Where they cannot be read there are none, as
// with an agent-server.
func (s *server) hooks(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Dir *string `json:"project_dir"`
	}
	if err := wire.ReadBody(r, &body, false); err != nil {
		return err
	}
	var found hookfile.Config
	if body.Dir != nil && *body.Dir != "" {
		if data, err := s.ReadFile(*body.Dir, hookfile.Path); err == nil {
			found, _ = hookfile.Parse(data)
		}
	}
	if len(found) == 0 {
		wire.WriteJSON(w, http.StatusOK, map[string]any{"hook_config": nil})
		return nil
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"hook_config": found})
	return nil
}
