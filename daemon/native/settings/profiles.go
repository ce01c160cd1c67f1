package settings

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/ohgw/ohgw/daemon/native/wire"
)

func (s *server) profileRoutes() []wire.Route {
	const path, one = "/api/profiles", "/api/profiles/{name}"
	return []wire.Route{
		{Method: http.MethodGet, Path: path, Summary: "LLM profiles", Handle: s.profiles},
		{Method: http.MethodGet, Path: one, Summary: "One LLM profile; X-Expose-Secrets says how secrets are shown", Handle: s.profile},
		{Method: http.MethodPost, Path: one, Summary: "Save an LLM profile", Body: true, Handle: s.saveProfile},
		{Method: http.MethodDelete, Path: one, Summary: "Delete an LLM profile", Handle: s.removeProfile},
		{Method: http.MethodPost, Path: one + "/rename", Summary: "Rename an LLM profile", Body: true, Handle: s.renameProfile},
		{Method: http.MethodPost, Path: one + "/activate", Summary: "Make an LLM profile the active one", Handle: s.activateProfile},
		{Method: http.MethodPost, Path: one + "/validate", Summary: "Try an LLM with one call", Body: true, Handle: s.validateProfile},
	}
}

func (s *server) profiles(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Store.LLMProfiles(r.Context())
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, list)
	return nil
}

func (s *server) profile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	e, err := exposure(r)
	if err != nil {
		return err
	}
	found, err := s.Store.LLMProfile(r.Context(), name, e)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, found)
	return nil
}

// llmBody is the body of calls that send an LLM.
type llmBody struct {
	LLM     json.RawMessage `json:"llm"`
	Secrets *bool           `json:"include_secrets"`
}

func readLLM(r *http.Request) (llmBody, error) {
	var body llmBody
	if err := wire.ReadBody(r, &body, false); err != nil {
		return body, err
	}
	if body.LLM == nil {
		return body, missing("llm")
	}
	return body, nil
}

func (s *server) saveProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	body, err := readLLM(r)
	if err != nil {
		return err
	}
	if err := s.Store.SaveLLMProfile(r.Context(), name, body.LLM, body.Secrets == nil || *body.Secrets); err != nil {
		return err
	}
	return mutation(w, http.StatusCreated, name, fmt.Sprintf("Profile '%s' saved", name))
}

func (s *server) removeProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	if err := s.Store.RemoveLLMProfile(r.Context(), name); err != nil {
		return err
	}
	return mutation(w, http.StatusOK, name, fmt.Sprintf("Profile '%s' deleted", name))
}

func (s *server) renameProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	to, err := newName(r)
	if err != nil {
		return err
	}
	if err := s.Store.RenameLLMProfile(r.Context(), name, to); err != nil {
		return err
	}
	return mutation(w, http.StatusOK, to, renamed("Profile", name, to))
}

func renamed(noun, name, to string) string {
	if name == to {
		return fmt.Sprintf("%s '%s' unchanged (same name)", noun, name)
	}
	return fmt.Sprintf("%s '%s' renamed to '%s'", noun, name, to)
}

func (s *server) activateProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := pathName(r)
	if err != nil {
		return err
	}
	if err := s.Store.ActivateLLMProfile(r.Context(), name); err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{
		"name": name, "message": fmt.Sprintf("Profile '%s' activated and applied to current settings", name), "llm_applied": true,
	})
	return nil
}

func (s *server) validateProfile(w http.ResponseWriter, r *http.Request) error {
	if _, err := pathName(r); err != nil {
		return err
	}
	body, err := readLLM(r)
	if err != nil {
		return err
	}
	llm, err := s.Store.ParseLLM(body.LLM)
	if err != nil {
		return err
	}
	answer := map[string]any{"valid": true, "error": nil}
	if trial := s.Try(r.Context(), llm); !trial.OK {
		answer = map[string]any{"valid": false, "error": map[string]string{"type": trial.Type, "message": trial.Msg}}
	}
	wire.WriteJSON(w, http.StatusOK, answer)
	return nil
}
