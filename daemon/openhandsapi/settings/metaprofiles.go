package settings

import (
	"fmt"
	"net/http"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

func (s *server) metaProfileRoutes() []wire.Route {
	const path, one = "/api/meta-profiles", "/api/meta-profiles/{name}"
	k := kind{noun: "Meta-profile", save: s.saveMetaProfile, remove: s.Store.MetaProfiles.Remove}
	return []wire.Route{
		{Method: http.MethodGet, Path: path, Summary: "Meta-profiles, which name LLM profiles for kinds of tasks", Handle: list(s.Store.MetaProfiles.List)},
		{Method: http.MethodGet, Path: one, Summary: "One meta-profile", Handle: byName(http.StatusOK, s.metaProfile)},
		{Method: http.MethodPost, Path: one, Summary: "Save a meta-profile", Body: true, Handle: k.saved()},
		{Method: http.MethodDelete, Path: one, Summary: "Delete a meta-profile", Handle: k.removed()},
		{Method: http.MethodPost, Path: one + "/activate", Summary: "Make a meta-profile the active one", Handle: byName(http.StatusOK, s.activateMetaProfile)},
	}
}

func (s *server) metaProfile(r *http.Request, name string) (any, error) {
	config, err := s.Store.MetaProfiles.Get(r.Context(), name)
	return map[string]any{"name": name, "config": config}, err
}

func (s *server) saveMetaProfile(r *http.Request, name string) error {
	body, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	return s.Store.MetaProfiles.Save(r.Context(), name, body.JSON())
}

func (s *server) activateMetaProfile(r *http.Request, name string) (any, error) {
	applied, err := s.Store.MetaProfiles.Activate(r.Context(), name)
	message := fmt.Sprintf("Meta-profile '%s' activated", name)
	if !applied {
		message = fmt.Sprintf("Meta-profile '%s' not activated: the current agent settings cannot route between models", name)
	}
	return map[string]any{"name": name, "message": message, "applied": applied}, err
}
