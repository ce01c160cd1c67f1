package settings

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/ohgw/ohgw/daemon/native/wire"
)

func (s *server) metaProfileRoutes() []wire.Route {
	const path, one = "/api/meta-profiles", "/api/meta-profiles/{name}"
	return []wire.Route{
		{Method: http.MethodGet, Path: path, Summary: "Meta-profiles, which name LLM profiles for kinds of tasks", Handle: s.metaProfiles},
		{Method: http.MethodGet, Path: one, Summary: "One meta-profile", Handle: s.metaProfile},
		{Method: http.MethodPost, Path: one, Summary: "Save a meta-profile", Body: true, Handle: s.saveMetaProfile},
		{Method: http.MethodDelete, Path: one, Summary: "Delete a meta-profile", Handle: s.removeMetaProfile},
		{Method: http.MethodPost, Path: one + "/activate", Summary: "Make a meta-profile the active one", Handle: s.activateMetaProfile},
	}
}

func (s *server) metaProfiles(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Store.MetaProfiles(r.Context())
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, list)
	return nil
}

func (s *server) metaProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	config, err := s.Store.MetaProfile(r.Context(), name)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"name": name, "config": config})
	return nil
}

func (s *server) saveMetaProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	var body json.RawMessage
	if err := wire.ReadBody(r, &body, false); err != nil {
		return err
	}
	if err := s.Store.SaveMetaProfile(r.Context(), name, body); err != nil {
		return err
	}
	return mutation(w, http.StatusCreated, name, fmt.Sprintf("Meta-profile '%s' saved", name))
}

func (s *server) removeMetaProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	if err := s.Store.RemoveMetaProfile(r.Context(), name); err != nil {
		return err
	}
	return mutation(w, http.StatusOK, name, fmt.Sprintf("Meta-profile '%s' deleted", name))
}

func (s *server) activateMetaProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	applied, err := s.Store.ActivateMetaProfile(r.Context(), name)
	if err != nil {
		return err
	}
	message := fmt.Sprintf("Meta-profile '%s' activated", name)
	if !applied {
		message = fmt.Sprintf("Meta-profile '%s' not activated: the current agent settings cannot route between models", name)
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"name": name, "message": message, "applied": applied})
	return nil
}
