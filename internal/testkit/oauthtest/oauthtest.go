// Package oauthtest is an authorization server and an MCP server that takes its tokens,
// for tests: metadata, registration of clients, codes with PKCE, and refresh tokens of
// which each counts once.
package oauthtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Server is both servers. Change its fields before the first request only.
type Server struct {
	URL    string // of both
	MCP    string // of the MCP server
	SSE    string // of the same over the older transport
	Scopes []string
	// ExpiresIn is how long tokens count by what clients are told, in seconds.
	ExpiresIn int
	// Methods are the ways in which clients may show who they are.
	Methods []string
	// Break answers a request in place of the server; it reports whether it did.
	Break func(w http.ResponseWriter, r *http.Request) bool

	mux     *http.ServeMux
	mu      sync.Mutex
	clients map[string]client
	codes   map[string]code
	access  map[string]bool
	refresh map[string]string // to the client
	seen    []string
}

type client struct {
	secret    string
	redirects []string
}

type code struct{ client, redirect, challenge, resource string }

// New starts a server, which ends with the test.
func New(t testing.TB) *Server {
	s := &Server{
		ExpiresIn: 3600, Methods: []string{"none", "client_secret_basic"}, Scopes: []string{"read"},
		clients: map[string]client{}, codes: map[string]code{}, access: map[string]bool{}, refresh: map[string]string{},
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.URL, s.MCP, s.SSE = web.URL, web.URL+"/mcp", web.URL+"/sse"
	s.mux = s.routes()
	return s
}

// ServeHTTP answers for both servers.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.note(r.Method + " " + r.URL.Path)
	if s.Break != nil && s.Break(w, r) {
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, path := range []string{"/mcp", "/sse"} {
		mux.Handle("GET /.well-known/oauth-protected-resource"+path, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
			Resource: s.URL + path, AuthorizationServers: []string{s.URL}, ScopesSupported: s.Scopes,
		}))
	}
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	tools := sdk.NewServer(&sdk.Implementation{Name: "oauthtest", Version: "1"}, nil)
	sdk.AddTool(tools, &sdk.Tool{Name: "whoami", Description: "Say who is logged in."},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "somebody who is logged in"}}}, nil, nil
		})
	serve := func(*http.Request) *sdk.Server { return tools }
	mux.Handle("/mcp", s.guarded("/mcp", sdk.NewStreamableHTTPHandler(serve, &sdk.StreamableHTTPOptions{Stateless: true})))
	mux.Handle("/sse", s.guarded("/sse", sdk.NewSSEHandler(serve, nil)))
	return mux
}

// guarded asks for a token.
func (s *Server) guarded(path string, next http.Handler) http.Handler {
	return auth.RequireBearerToken(func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.access[token] {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour), Scopes: s.Scopes}, nil
	}, &auth.RequireBearerTokenOptions{ResourceMetadataURL: s.URL + "/.well-known/oauth-protected-resource" + path})(next)
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, oauthex.AuthServerMeta{
		Issuer: s.URL, AuthorizationEndpoint: s.URL + "/authorize", TokenEndpoint: s.URL + "/token", RegistrationEndpoint: s.URL + "/register",
		ResponseTypesSupported: []string{"code"}, CodeChallengeMethodsSupported: []string{"S256"}, TokenEndpointAuthMethodsSupported: s.Methods,
	})
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var asked map[string]any
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		refuse(w, "invalid_client_metadata")
		return
	}
	id, c := "client-"+rand.Text(), client{}
	list, _ := asked["redirect_uris"].([]any)
	for _, one := range list {
		if to, ok := one.(string); ok {
			c.redirects = append(c.redirects, to)
		}
	}
	method, _ := asked["token_endpoint_auth_method"].(string)
	switch {
	case method == "":
		method = "client_secret_basic"
	case !slices.Contains(s.Methods, method):
		refuse(w, "invalid_client_metadata")
		return
	}
	made := maps.Clone(asked)
	made["client_id"], made["token_endpoint_auth_method"] = id, method
	if method != "none" {
		c.secret = "secret-" + rand.Text()
		made["client_secret"], made["client_secret_expires_at"] = c.secret, 0
	}
	s.mu.Lock()
	s.clients[id] = c
	s.mu.Unlock()
	answer(w, http.StatusCreated, made)
}

// Register makes a client that is known beforehand.
func (s *Server) Register(redirect string) (id, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, secret = "client-"+rand.Text(), "secret-"+rand.Text()
	s.clients[id] = client{secret: secret, redirects: []string{redirect}}
	return id, secret
}

// authorize grants every valid request at once, as if the person on the page had
// agreed.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	to := q.Get("redirect_uri")
	c, known := s.clients[q.Get("client_id")]
	switch {
	case !known, !slices.Contains(c.redirects, to):
		http.Error(w, "unknown client", http.StatusBadRequest)
		return
	case q.Get("response_type") != "code", q.Get("code_challenge_method") != "S256", q.Get("code_challenge") == "", q.Get("state") == "":
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	word := "code-" + rand.Text()
	s.codes[word] = code{client: q.Get("client_id"), redirect: to, challenge: q.Get("code_challenge"), resource: q.Get("resource")}
	http.Redirect(w, r, to+"?"+url.Values{"code": {word}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		refuse(w, "invalid_request")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PostForm.Get("client_id")
	secret := r.PostForm.Get("client_secret")
	if name, password, basic := r.BasicAuth(); basic {
		id, secret = name, password
	}
	if c, known := s.clients[id]; !known || c.secret != secret {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		given, ok := s.codes[r.PostForm.Get("code")]
		delete(s.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !ok || given.client != id || given.redirect != r.PostForm.Get("redirect_uri") || given.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			refuse(w, "invalid_grant")
			return
		}
	case "refresh_token":
		word := r.PostForm.Get("refresh_token")
		if owner, ok := s.refresh[word]; !ok || owner != id {
			refuse(w, "invalid_grant")
			return
		}
		delete(s.refresh, word)
	default:
		refuse(w, "unsupported_grant_type")
		return
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	s.access[access], s.refresh[refresh] = true, id
	answer(w, http.StatusOK, map[string]any{
		"access_token": access, "refresh_token": refresh, "token_type": "bearer", "expires_in": s.ExpiresIn,
	})
}

// Revoke makes all access tokens invalid, and with everything the refresh tokens and
// codes.
func (s *Server) Revoke(everything bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
	if everything {
		clear(s.refresh)
		clear(s.codes)
	}
}

func (s *Server) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, what)
}

// Count is how many requests there were, such as "POST /token".
func (s *Server) Count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, one := range s.seen {
		if one == what {
			n++
		}
	}
	return n
}

// Visit is a browser: it opens the page and returns where it is sent back to.
func Visit(ctx context.Context, page string) (*url.URL, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // It is not read.
	return resp.Location()
}

func refuse(w http.ResponseWriter, reason string) {
	answer(w, http.StatusBadRequest, map[string]string{"error": reason, "error_description": "a text of the server"})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone
}
