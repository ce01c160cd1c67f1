// Package githost serves the user's repositories at a host of git to clients of
// OpenHands' own API: /api/git/repositories/search. GitHub is the one that it can ask.
//
// The token is one of the user's secrets. It goes to that host only, and into no message.
package githost

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// Config is what the route needs. All but URL are required.
type Config struct {
	// Secret is the value of a secret of the user; "" if there is none.
	Secret func(ctx context.Context, name string) (string, error)
	// HTTP asks GitHub. It must follow no redirect: the token is for one host.
	HTTP *http.Client
	// URL is that of GitHub's API; "" is the public one.
	URL string
}

// Routes has the one route.
func Routes(cfg Config) []wire.Route {
	if cfg.URL == "" {
		cfg.URL = "https://api.github.com"
	}
	s := &server{cfg}
	return []wire.Route{{
		Method: http.MethodGet, Path: "/api/git/repositories/search", Summary: "The user's repositories at GitHub",
		Query: []string{"provider", "query", "limit", "page_id"}, Handle: s.search,
	}}
}

type server struct{ Config }

// repository is a repository as an agent-server reports it.
type repository struct {
	ID         string       `json:"id"`
	Name       string       `json:"full_name"`
	Provider   string       `json:"git_provider"`
	Public     bool         `json:"is_public"`
	Stars      *json.Number `json:"stargazers_count"`
	Pushed     *string      `json:"pushed_at"`
	MainBranch *string      `json:"main_branch"`
}

// page is a part of the repositories.
type page struct {
	Items        []repository `json:"items"`
	Next         *string      `json:"next_page_id"`
	MissingToken bool         `json:"missing_token"`
}

// tokens are the secrets that may have the token, the first one first.
var tokens = [...]string{"github_token", "GITHUB_TOKEN", "GH_TOKEN", "github"}

func (s *server) search(w http.ResponseWriter, r *http.Request) error {
	provider, limit, err := readSearch(r)
	if err != nil {
		return err
	}
	if provider != github {
		return wire.Refuse(http.StatusBadRequest, "Repository discovery is not supported for provider '%s'", provider)
	}
	token, err := s.token(r.Context())
	if err != nil {
		return err
	}
	if token == "" {
		wire.WriteJSON(w, http.StatusOK, page{Items: []repository{}, MissingToken: true})
		return nil
	}
	q := r.URL.Query()
	ask := asking{server: s, token: token, name: q.Get("query"), limit: limit}
	found, err := ask.repositories(r.Context(), q.Get("page_id"), q.Has("page_id"))
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, found)
	return nil
}

func (s *server) token(ctx context.Context) (string, error) {
	for _, name := range tokens {
		token, err := s.Secret(ctx, name)
		if err != nil || token != "" {
			return token, err
		}
	}
	return "", nil
}

// github is the provider that can be asked.
const github = "github"

// maxLimit is how many repositories a page may have, and has if nothing is said.
const maxLimit = 100

// readSearch reads the query. All that is wrong with it is told.
func readSearch(r *http.Request) (provider string, limit int, err error) {
	var wrong []pydantic.Fault
	q := r.URL.Query()
	note := func(name string, refused *pydantic.Refusal) {
		if refused != nil {
			wrong = append(wrong, refused.At([]any{"query", name}, q.Get(name)))
		}
	}
	if q.Has("provider") {
		var refused *pydantic.Refusal
		provider, refused = pydantic.Choice(pydantic.Quoted(q.Get("provider")), pydantic.Enum, github, "gitlab", "bitbucket", "azure_devops")
		note("provider", refused)
	} else {
		wrong = append(wrong, pydantic.Missing().At([]any{"query", "provider"}, nil))
	}
	limit = maxLimit
	if q.Has("limit") {
		var refused *pydantic.Refusal
		limit, refused = pydantic.IntUpTo(pydantic.Quoted(q.Get("limit")), pydantic.Between(1, maxLimit), maxLimit)
		note("limit", refused)
	}
	if len(wrong) > 0 {
		return "", 0, pydantic.Refuse(wrong...)
	}
	return provider, limit, nil
}
