package settings

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

func (s *server) profileRoutes() []wire.Route {
	const path, one = "/api/profiles", "/api/profiles/{name}"
	k := kind{"Profile", s.saveProfile, s.Store.LLMProfiles.Remove, s.Store.LLMProfiles.Rename}
	return []wire.Route{
		{Method: http.MethodGet, Path: path, Summary: "LLM profiles", Handle: list(s.Store.LLMProfiles.List)},
		{
			Method: http.MethodGet, Path: one, Summary: "One LLM profile; X-Expose-Secrets says how secrets are shown",
			Handle: byName(http.StatusOK, s.profile),
		},
		{Method: http.MethodPost, Path: one, Summary: "Save an LLM profile", Body: true, Handle: k.saved()},
		{Method: http.MethodDelete, Path: one, Summary: "Delete an LLM profile", Handle: k.removed()},
		{Method: http.MethodPost, Path: one + "/rename", Summary: "Rename an LLM profile", Body: true, Handle: k.renamed()},
		{Method: http.MethodPost, Path: one + "/activate", Summary: "Make an LLM profile the active one", Handle: byName(http.StatusOK, s.activateProfile)},
		{Method: http.MethodPost, Path: one + "/validate", Summary: "Try an LLM with one call", Body: true, Handle: byName(http.StatusOK, s.validateProfile)},
	}
}

func (s *server) profile(r *http.Request, name string) (openhands.LLMConfig, error) {
	e, err := exposure(r)
	if err != nil {
		return openhands.LLMConfig{}, err
	}
	return s.Store.LLMProfiles.Get(r.Context(), name, e)
}

// readLLM reads the body of a call that sends an LLM, which may be null here.
func readLLM(r *http.Request) (o *pydantic.Object, llm json.RawMessage, err error) {
	if o, err = wire.ReadObject(r, false); err != nil {
		return nil, nil, err
	}
	if llm = o.Raw("llm"); llm == nil && o.Need("llm") {
		llm = json.RawMessage("null")
	}
	return o, llm, nil
}

func (s *server) saveProfile(r *http.Request, name string) error {
	o, llm, err := readLLM(r)
	if err != nil {
		return err
	}
	secrets := o.Bool("include_secrets", true)
	if err := o.Err(); err != nil {
		return err
	}
	return s.Store.LLMProfiles.Save(r.Context(), name, llm, secrets)
}

func (s *server) activateProfile(r *http.Request, name string) (any, error) {
	return map[string]any{
		"name": name, "message": fmt.Sprintf("Profile '%s' activated and applied to current settings", name), "llm_applied": true,
	}, s.Store.LLMProfiles.Activate(r.Context(), name)
}

func (s *server) validateProfile(r *http.Request, _ string) (any, error) {
	o, sent, err := readLLM(r)
	if err == nil {
		err = o.Err()
	}
	if err != nil {
		return nil, err
	}
	llm, err := s.Store.LLMProfiles.Parse(sent)
	if err != nil {
		return nil, err
	}
	if trial := s.Try(r.Context(), llm); !trial.OK {
		return map[string]any{"valid": false, "error": map[string]string{"type": trial.Type, "message": trial.Msg}}, nil
	}
	return map[string]any{"valid": true, "error": nil}, nil
}
