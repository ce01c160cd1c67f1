package catalogue

import (
	"net/http"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// hooks reads the hooks of a project. Where they cannot be read there are none, as
// with an agent-server.
func (s *server) hooks(w http.ResponseWriter, r *http.Request) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	dir := projectDir(o, true)
	if err := o.Err(); err != nil {
		return err
	}
	var found hookfile.Config
	if dir != "" {
		if data, err := s.ReadFile(dir, hookfile.Path); err == nil {
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
