package oauth_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
	"github.com/ohgw/ohgw/internal/testkit/oauthtest"
)

// expired is a login that has to be renewed, of a client that a server knows.
func expired(s *oauthtest.Server) oauth.State {
	id, secret := s.Register("http://localhost:1/")
	at := 1.0
	return oauth.State{
		Tokens:     map[string]any{"access_token": "access-old", "refresh_token": "refresh-old"},
		ClientInfo: map[string]any{"client_id": id, "client_secret": secret, "token_endpoint_auth_method": "client_secret_basic"}, ExpiresAt: &at,
	}
}

// An authorization server that never answers delays no call for long, and the login stays.
func TestAnAuthorizationServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/token"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := oauthtest.New(t)
			end := make(chan struct{})
			t.Cleanup(func() { close(end) })
			s.Break = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == path {
					select {
					case <-end:
					case <-r.Context().Done():
					}
				}
				return r.URL.Path == path
			}
			kept := oauth.NewMemory(expired(s))
			h := oauth.New(oauth.Config{URL: s.MCP, Store: kept, HTTP: http.DefaultTransport, Now: time.Now, StepTime: 50 * time.Millisecond})
			source, err := h.TokenSource(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			token, err := source.Token()
			if token != nil || err == nil || !strings.HasSuffix(err.Error(), " the authorization server: it does not answer") {
				t.Errorf("the error of the token: %v", err)
			}
			if state, _, err := kept.Load(t.Context(), s.MCP); err != nil || state.Tokens["refresh_token"] != "refresh-old" {
				t.Errorf("the login is gone: %v", err)
			}
		})
	}
}

// A login that is not accepted any more is not an error of its own: the server is asked,
// and says that it wants one.
func TestARefreshTokenThatIsNotAcceptedIsNoLogin(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	h := oauth.New(oauth.Config{URL: s.MCP, Store: oauth.NewMemory(expired(s)), HTTP: http.DefaultTransport, Now: time.Now})
	source, err := h.TokenSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if token, err := source.Token(); token != nil || err != nil || s.Count("POST /token") != 1 {
		t.Errorf("a token is there: %v, %v, after %d requests", token != nil, err, s.Count("POST /token"))
	}
	if !oauth.Needed(authorize(t.Context(), h, s.MCP, "Bearer")) {
		t.Error("it asks for no login")
	}
}

// authorize is what a transport does when the server has refused a request.
func authorize(ctx context.Context, h *oauth.Handler, url, challenge string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	status := http.StatusUnauthorized
	if strings.Contains(challenge, "insufficient_scope") {
		status = http.StatusForbidden
	}
	return h.Authorize(ctx, req, &http.Response{StatusCode: status, Header: http.Header{"Www-Authenticate": {challenge}}, Body: http.NoBody})
}

func TestALoginThatMayDoTooLittle(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	h := oauth.New(oauth.Config{URL: s.MCP, Store: oauth.NewMemory(expired(s)), HTTP: http.DefaultTransport, Now: time.Now})
	err := authorize(t.Context(), h, s.MCP, `Bearer error="insufficient_scope", scope="write"`)
	if !oauth.Needed(err) || !strings.Contains(err.Error(), "may not do this") || s.Count("POST /token") != 0 {
		t.Errorf("the error of the login: %v, after %d requests for tokens", err, s.Count("POST /token"))
	}
}

// OpenHands stores the issuer with a slash at its end.
func TestTheIssuerOfALoginThatOpenHandsStored(t *testing.T) {
	t.Parallel()
	for slash, accepted := range map[string]bool{"/": true, "": true, "/other": false} {
		s := oauthtest.New(t)
		state := expired(s)
		state.ClientInfo["issuer"] = s.URL + slash
		h := oauth.New(oauth.Config{URL: s.MCP, Store: oauth.NewMemory(state), HTTP: http.DefaultTransport, Now: time.Now})
		source, err := h.TokenSource(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = source.Token() // its refresh token is not one
		if asked := s.Count("POST /token") == 1; asked != accepted {
			t.Errorf("%q: the refresh token was sent: %v", slash, asked)
		}
	}
}

// A redirect to another host does not take the token along.
func TestTheTokenStaysWithItsHost(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	state := oauth.State{Tokens: map[string]any{"access_token": "access-own"}}
	h := oauth.New(oauth.Config{URL: s.SSE, Store: oauth.NewMemory(state), HTTP: http.DefaultTransport, Now: time.Now})
	var got []string
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		got = append(got, r.URL.Host+" "+r.Header.Get("Authorization"))
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
	})
	through := &oauth.Transport{Handler: h, Host: "own.example", Base: base}
	for _, to := range []string{"http://own.example/sse", "http://other.example/sse"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := through.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close() // It is empty.
	}
	if want := "own.example Bearer access-own|other.example "; strings.Join(got, "|") != want {
		t.Errorf("requests = %q, want %q", got, want)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNothingPrintsALogin(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	state := expired(s)
	for _, text := range []string{state.String(), state.GoString(), state.LogValue().String()} {
		if strings.Contains(text, "refresh-old") || text == "" {
			t.Error(text)
		}
	}
}
