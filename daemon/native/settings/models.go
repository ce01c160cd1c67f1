package settings

import (
	"net/http"

	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/openhands"
)

func (s *server) modelRoutes() []wire.Route {
	answer := func(name string, value func(r *http.Request) any) wire.Handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			wire.WriteJSON(w, http.StatusOK, map[string]any{name: value(r)})
			return nil
		}
	}
	return []wire.Route{
		{Method: http.MethodGet, Path: "/api/llm/providers", Summary: "Names of LLM providers", Handle: answer("providers", func(*http.Request) any {
			return openhands.ModelProviders(s.Providers)
		})},
		{
			Method: http.MethodGet, Path: "/api/llm/models", Summary: "Names of models", Query: []string{"provider"},
			Handle: answer("models", func(r *http.Request) any { return openhands.Models(r.URL.Query().Get("provider")) }),
		},
		{Method: http.MethodGet, Path: "/api/llm/models/verified", Summary: "Models that OpenHands has tried, by provider", Handle: answer("models", func(*http.Request) any {
			return openhands.VerifiedModels()
		})},
	}
}
