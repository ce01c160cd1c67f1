package settings

import (
	"net/http"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands"
)

func (s *server) modelRoutes() []wire.Route {
	called := func(name string, value func(r *http.Request) any) wire.Handler {
		return answer(http.StatusOK, func(r *http.Request) (any, error) { return map[string]any{name: value(r)}, nil })
	}
	return []wire.Route{
		{Method: http.MethodGet, Path: "/api/llm/providers", Summary: "Names of LLM providers", Handle: called("providers", func(*http.Request) any {
			return openhands.ModelProviders(s.Providers)
		})},
		{
			Method: http.MethodGet, Path: "/api/llm/models", Summary: "Names of models", Query: []string{"provider"},
			Handle: called("models", func(r *http.Request) any { return openhands.Models(r.URL.Query().Get("provider")) }),
		},
		{Method: http.MethodGet, Path: "/api/llm/models/verified", Summary: "Models that OpenHands has tried, by provider", Handle: called("models", func(*http.Request) any {
			return openhands.VerifiedModels()
		})},
	}
}
