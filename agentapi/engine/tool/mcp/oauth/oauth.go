// Package oauth logs in to MCP servers: authorization by code with PKCE, tokens that
// were stored, and their renewal. The protocol itself is that of the MCP SDK and of
// golang.org/x/oauth2; the form of what is stored is OpenHands'.
//
// Invariants: a browser is asked for only where there is a [Browser]; a refresh token
// goes to no other authorization server than the one that gave it, where that is known;
// no error has a token, a code or the text of a server in it.
package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

// stepTime is how long one answer of an authorization server may take.
const stepTime = 10 * time.Second

// Settings are the member authentication of a server's auth.
type Settings struct {
	Scopes      Scopes          `json:"scopes"`
	ClientName  string          `json:"client_name"`
	MetadataURL string          `json:"client_metadata_url"`
	ClientID    string          `json:"client_id"`
	AuthMethod  string          `json:"client_auth_method"`
	Additional  json.RawMessage `json:"additional_client_metadata"`

	ClientSecret string `json:"client_secret"`
}

// String hides what is secret, as the other two do.
func (Settings) String() string { return "oauth.Settings(REDACTED)" }

// GoString is String.
func (Settings) GoString() string { return "oauth.Settings(REDACTED)" }

// LogValue is String.
func (Settings) LogValue() slog.Value { return slog.StringValue("REDACTED") }

// Scopes is a list of scopes, or a text with spaces between them.
type Scopes []string

// UnmarshalJSON reads both forms.
func (s *Scopes) UnmarshalJSON(data []byte) error {
	var words string
	if json.Unmarshal(data, &words) == nil {
		*s = strings.Fields(words)
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return errors.New("scopes must be a text or a list of texts")
	}
	*s = list
	return nil
}

// Browser is a person who can log in.
type Browser struct {
	// RedirectURL is where the browser comes back to.
	RedirectURL string
	// Visit shows the person the page of the authorization server, and waits until the
	// browser comes back.
	Visit func(ctx context.Context, url string) (*auth.AuthorizationResult, error)
}

// Config is what a Handler needs.
type Config struct {
	URL      string // of the MCP server
	Settings Settings
	Store    Store
	Browser  *Browser          // nil: a login is not possible now
	HTTP     http.RoundTripper // reaches authorization servers
	Version  string            // of ohgw
	Now      func() time.Time
	StepTime time.Duration // for one answer of an authorization server; 0: 10 s
}

// Handler is the login to one MCP server, as the SDK's transports want it.
type Handler struct {
	cfg    Config
	client *http.Client

	mu sync.Mutex // held while tokens are renewed, so that it happens once

	loginMu sync.Mutex // held during a login, for the same reason
	failed  error      // of a login: the SDK tries other requests, and a person has answered
}

var _ auth.OAuthHandler = (*Handler)(nil)

// New makes a handler.
func New(cfg Config) *Handler {
	if cfg.StepTime == 0 {
		cfg.StepTime = stepTime
	}
	return &Handler{cfg: cfg, client: &http.Client{Transport: cfg.HTTP, Timeout: cfg.StepTime}}
}

// TokenSource gives the token that is stored, a new one where that has expired.
func (h *Handler) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	return source{ctx, h}, nil
}

type source struct {
	ctx context.Context
	h   *Handler
}

// Token returns no token where there is none that can be used: the server then asks for
// one, and so [Handler.Authorize] is called.
func (s source) Token() (*oauth2.Token, error) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	state, err := s.h.load(s.ctx)
	if err != nil {
		return nil, err
	}
	if !state.usable(s.h.cfg.Now()) {
		if state, err = s.h.renew(s.ctx, state, ""); err != nil {
			return nil, s.h.unlessLogin(err)
		}
	}
	return &oauth2.Token{AccessToken: state.access()}, nil
}

// unlessLogin returns err, or nil where the next step is to log in or to report that a
// login is needed.
func (h *Handler) unlessLogin(err error) error {
	if Needed(err) || h.cfg.Browser != nil {
		return nil
	}
	return err
}

// State is the login as it is now.
func (h *Handler) State(ctx context.Context) (State, error) { return h.load(ctx) }

func (h *Handler) load(ctx context.Context) (State, error) {
	state, _, err := h.cfg.Store.Load(ctx, h.cfg.URL)
	if err != nil {
		return State{}, errStored(err)
	}
	return state, nil
}

// save stores a login that is new. It ends with the process otherwise, and a refresh
// token that was used cannot be used again.
func (h *Handler) save(ctx context.Context, state State) error {
	if err := h.cfg.Store.Save(context.WithoutCancel(ctx), h.cfg.URL, state); err != nil {
		return errStored(err)
	}
	return nil
}

// Authorize answers a refusal of the server: it renews the token, or lets a person log
// in. The SDK repeats the request where it returns nil.
func (h *Handler) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	asked := challengeOf(resp)
	if resp.StatusCode == http.StatusForbidden && !asked.wantsScope() {
		return resp.Body.Close() // the repetition is refused, too, and that is told
	}
	if !asked.wantsScope() {
		renewed, err := h.renewRefused(ctx, req.Header.Get("Authorization"), asked.metadata())
		if err = h.unlessLogin(err); renewed || err != nil {
			return errors.Join(err, resp.Body.Close())
		}
	}
	if h.cfg.Browser == nil {
		return errors.Join(&NeededError{Scope: asked.wantsScope()}, resp.Body.Close())
	}
	h.loginMu.Lock()
	defer h.loginMu.Unlock()
	if h.failed != nil {
		return errors.Join(h.failed, resp.Body.Close())
	}
	h.failed = h.login(ctx, req, resp, asked)
	return h.failed
}

// renewRefused makes sure that there is another token than the one that was refused.
// Another process may have stored one.
func (h *Handler) renewRefused(ctx context.Context, refused, metadata string) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	state, err := h.load(ctx)
	if err != nil {
		return false, err
	}
	if state.usable(h.cfg.Now()) && "Bearer "+state.access() != refused {
		return true, nil
	}
	if _, err := h.renew(ctx, state, metadata); err != nil {
		return false, err
	}
	return true, nil
}
