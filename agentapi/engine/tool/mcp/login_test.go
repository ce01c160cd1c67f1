package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/testkit/oauthtest"
)

const redirect = "http://localhost:1/mcp/oauth/callback"

// browser agrees to everything at once.
func browser() *oauth.Browser {
	return &oauth.Browser{RedirectURL: redirect, Visit: func(ctx context.Context, page string) (*auth.AuthorizationResult, error) {
		back, err := oauthtest.Visit(ctx, page)
		if err != nil {
			return nil, err
		}
		return &auth.AuthorizationResult{Code: back.Query().Get("code"), State: back.Query().Get("state"), Iss: back.Query().Get("iss")}, nil
	}}
}

// withLogin are the settings of a server with a login, and more members of its auth.
func withLogin(s *oauthtest.Server, more string) mcp.Config {
	return config(fmt.Sprintf(`{"srv":{"url":%q,"auth":{"strategy":"oauth2"%s}}}`, s.MCP, more))
}

// loggedIn is a login to a server.
func loggedIn(t *testing.T, cfg mcp.Config) oauth.State {
	t.Helper()
	cfg.Browser = browser()
	state, err := connect(t, cfg).Login(t.Context(), "srv")
	if err != nil || state.IsZero() {
		t.Fatalf("no login: %v", err)
	}
	return state
}

// stored is a member of auth with a login.
func stored(t *testing.T, s oauth.State) string {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return `,"state":` + string(data)
}

func TestAPersonLogsIn(t *testing.T) {
	t.Parallel()
	for name, methods := range map[string][]string{
		"without a secret": {"client_secret_basic", "none"}, "basic": {"client_secret_basic"}, "post": {"client_secret_post"}, "nothing said": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := oauthtest.New(t)
			s.Methods = methods
			if methods == nil {
				s.Methods = []string{}
			}
			cfg := withLogin(s, "")
			state := loggedIn(t, cfg)
			if n := s.Count("POST /register"); n != 1 {
				t.Errorf("%d registrations", n)
			}
			later := connect(t, withLogin(s, stored(t, state)))
			if text, isError := call(t, later, "whoami", `{}`); isError || !strings.Contains(text, "logged in") {
				t.Errorf("text = %q, is an error: %v", text, isError)
			}
			s.Revoke(false)
			if text, isError := call(t, later, "whoami", `{}`); isError || !strings.Contains(text, "logged in") {
				t.Errorf("after the token was revoked: %q %v", text, isError)
			}
			if n := s.Count("POST /token"); n != 2 {
				t.Errorf("%d token requests, want a code and a renewal", n)
			}
		})
	}
}

// The older transport has no logins in the SDK.
func TestALoginToTheOlderTransport(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	servers := func(more string) string {
		return fmt.Sprintf(`{"srv":{"url":%q,"transport":"sse","auth":{"strategy":"oauth2"%s}}}`, s.SSE, more)
	}
	if err := warning(t, config(servers(""))); !oauth.Needed(err) {
		t.Fatalf("the warning without a login: %v", err)
	}
	c := connect(t, config(servers(stored(t, loggedIn(t, config(servers("")))))))
	s.Revoke(false)
	if text, isError := call(t, c, "whoami", `{}`); isError || !strings.Contains(text, "logged in") {
		t.Errorf("text = %q, is an error: %v", text, isError)
	}
}

func TestAClientOfTheSettingsIsNotRegistered(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	id, secret := s.Register(redirect)
	state := loggedIn(t, withLogin(s, fmt.Sprintf(`,"authentication":{"type":"oauth","client_id":%q,"client_secret":%q,"scopes":"read write"}`, id, secret)))
	if n := s.Count("POST /register"); n != 0 || state.ClientInfo["client_id"] != id || state.ClientInfo["scope"] != "read write" {
		t.Errorf("%d registrations, client %v, scope %v", n, state.ClientInfo["client_id"], state.ClientInfo["scope"])
	}
}

func TestTheWordOAuthIsALogin(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	if err := warning(t, config(fmt.Sprintf(`{"srv":{"url":%q,"auth":"oauth"}}`, s.MCP))); !oauth.Needed(err) {
		t.Errorf("the warning without a login: %v", err)
	}
}

// An expired token is renewed before it is used, and what is new is stored.
func TestAnExpiredLoginIsRenewed(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	state := loggedIn(t, withLogin(s, ""))
	cfg := withLogin(s, "")
	kept := oauth.NewMemory(state)
	cfg.Logins, cfg.Now = kept, func() time.Time { return time.Now().Add(2 * time.Hour) }
	c := connect(t, cfg)
	if text, isError := call(t, c, "whoami", `{}`); isError {
		t.Error(text)
	}
	now, _, err := kept.Load(t.Context(), s.MCP)
	if err != nil || now.Tokens["access_token"] == state.Tokens["access_token"] || now.Tokens["refresh_token"] == state.Tokens["refresh_token"] {
		t.Errorf("the new login was not stored: %v", err)
	}
	if *now.ExpiresAt < float64(time.Now().Add(150*time.Minute).Unix()) {
		t.Errorf("it ends at %v", *now.ExpiresAt)
	}
	if now.ClientInfo["client_id"] != state.ClientInfo["client_id"] {
		t.Error("the client was lost")
	}
}

// A server that runs uses another login that was stored meanwhile.
func TestALoginThatIsStoredLaterIsUsed(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	cfg := withLogin(s, "")
	kept := oauth.NewMemory(oauth.State{})
	cfg.Logins, cfg.Pool = kept, mcp.NewPool(nil)
	if err := warning(t, cfg); !oauth.Needed(err) {
		t.Fatalf("the warning without a login: %v", err)
	}
	state := loggedIn(t, withLogin(s, ""))
	if err := kept.Save(t.Context(), s.MCP, state); err != nil {
		t.Fatal(err)
	}
	if text, isError := call(t, connect(t, cfg), "whoami", `{}`); isError {
		t.Error(text)
	}
}

func TestWithoutALoginThePersonIsTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(t *testing.T, s *oauthtest.Server, cfg *mcp.Config)
		want   string
		needed bool
	}{
		"none": {func(*testing.T, *oauthtest.Server, *mcp.Config) {}, "needs a login", true},
		"revoked": {func(t *testing.T, s *oauthtest.Server, cfg *mcp.Config) {
			*cfg = withLogin(s, stored(t, loggedIn(t, *cfg)))
			s.Revoke(true)
		}, "needs a login", true},
		"of another authorization server": {func(t *testing.T, s *oauthtest.Server, cfg *mcp.Config) {
			state := loggedIn(t, *cfg)
			state.ClientInfo["issuer"] = "https://other.example"
			*cfg = withLogin(s, stored(t, state))
			s.Revoke(false)
		}, "needs a login", true},
		"refused by the person": {func(t *testing.T, _ *oauthtest.Server, cfg *mcp.Config) {
			visits := 0
			cfg.Browser = &oauth.Browser{RedirectURL: redirect, Visit: func(context.Context, string) (*auth.AuthorizationResult, error) {
				if visits++; visits > 1 {
					t.Error("a person who has refused is asked again")
				}
				return nil, &oauth.RefusedError{Code: "access_denied"}
			}}
		}, "the login was refused", false},
		"refused with a text": {func(_ *testing.T, _ *oauthtest.Server, cfg *mcp.Config) {
			cfg.Browser = &oauth.Browser{RedirectURL: redirect, Visit: func(context.Context, string) (*auth.AuthorizationResult, error) {
				return nil, &oauth.RefusedError{Code: "<b>pay me</b>"}
			}}
		}, "refused the login", false},
		"wrong state": {func(_ *testing.T, _ *oauthtest.Server, cfg *mcp.Config) {
			good := browser().Visit
			cfg.Browser = &oauth.Browser{RedirectURL: redirect, Visit: func(ctx context.Context, page string) (*auth.AuthorizationResult, error) {
				result, err := good(ctx, page)
				if err == nil {
					result.State = "another"
				}
				return result, err
			}}
		}, "state mismatch", false},
		"wrong issuer": {func(_ *testing.T, _ *oauthtest.Server, cfg *mcp.Config) {
			good := browser().Visit
			cfg.Browser = &oauth.Browser{RedirectURL: redirect, Visit: func(ctx context.Context, page string) (*auth.AuthorizationResult, error) {
				result, err := good(ctx, page)
				if err == nil {
					result.Iss = "https://other.example"
				}
				return result, err
			}}
		}, "does not match", false},
		"an expired code": {func(_ *testing.T, s *oauthtest.Server, cfg *mcp.Config) {
			good := browser().Visit
			cfg.Browser = &oauth.Browser{RedirectURL: redirect, Visit: func(ctx context.Context, page string) (*auth.AuthorizationResult, error) {
				result, err := good(ctx, page)
				s.Revoke(true)
				return result, err
			}}
		}, "cannot log in at the authorization server: it answered 400 Bad Request (invalid_grant)", false},
		"a page instead of metadata": {func(_ *testing.T, s *oauthtest.Server, cfg *mcp.Config) {
			cfg.Browser = browser()
			s.Break = page("/.well-known/oauth-authorization-server")
		}, `bad content type "text/html`, false},
		"a page instead of a token": {func(_ *testing.T, s *oauthtest.Server, cfg *mcp.Config) {
			cfg.Browser = browser()
			s.Break = page("/token")
		}, "cannot be read", false},
		"a page instead of a client": {func(_ *testing.T, s *oauthtest.Server, cfg *mcp.Config) {
			cfg.Browser = browser()
			s.Break = page("/register")
		}, "does not register ohgw as a client", false},
		"no registration": {func(_ *testing.T, s *oauthtest.Server, cfg *mcp.Config) {
			cfg.Browser = browser()
			s.Break = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/register" {
					w.WriteHeader(http.StatusForbidden)
				}
				return r.URL.Path == "/register"
			}
		}, "does not register ohgw as a client", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := oauthtest.New(t)
			cfg := withLogin(s, "")
			test.change(t, s, &cfg)
			err := warning(t, cfg)
			text := said(err)
			if !strings.Contains(text, test.want) || oauth.Needed(err) != test.needed {
				t.Errorf("%s; needed: %v", text, oauth.Needed(err))
			}
			for _, secret := range []string{"access-", "refresh-", "secret-", "code-", "pay me", "<html", "a text of the server"} {
				if strings.Contains(text, secret) {
					t.Errorf("%q is in %q", secret, text)
				}
			}
		})
	}
}

// said is all that is told of a server.
func said(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%s: %v (%s)", f.Msg, f.Err, f.Hint)
}

// page answers a path with a page for people.
func page(path string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != path {
			return false
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>access-token</html>"))
		return true
	}
}
