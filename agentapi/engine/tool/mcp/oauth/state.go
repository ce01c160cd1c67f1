package oauth

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// State is a login, in the form in which OpenHands keeps it in the member state of a
// server's auth. Members that are not known here are kept.
type State struct {
	Tokens     map[string]any `json:"tokens,omitempty"`
	ClientInfo map[string]any `json:"client_info,omitempty"`
	ExpiresAt  *float64       `json:"token_expires_at,omitempty"` // in seconds since 1970
}

// The members of a State that are used.
const (
	memberAccess  = "access_token"
	memberRefresh = "refresh_token"
	memberID      = "client_id"
	memberSecret  = "client_secret"
	memberMethod  = "token_endpoint_auth_method"
	// memberIssuer is ohgw's own: who gave the tokens, so that no other gets them.
	memberIssuer = "issuer"
)

// String hides what is secret, as the other two do.
func (State) String() string { return "oauth.State(REDACTED)" }

// GoString is String.
func (State) GoString() string { return "oauth.State(REDACTED)" }

// LogValue is String.
func (State) LogValue() slog.Value { return slog.StringValue("REDACTED") }

// IsZero reports whether there is no login.
func (s State) IsZero() bool {
	return len(s.Tokens) == 0 && len(s.ClientInfo) == 0 && s.ExpiresAt == nil
}

func text(members map[string]any, name string) string {
	value, _ := members[name].(string)
	return value
}

func (s State) access() string  { return text(s.Tokens, memberAccess) }
func (s State) refresh() string { return text(s.Tokens, memberRefresh) }

// early is how long before its end a token is not used any more.
const early = 10 * time.Second

// usable reports whether there is a token that has not expired.
func (s State) usable(now time.Time) bool {
	if s.access() == "" {
		return false
	}
	return s.ExpiresAt == nil || now.Add(early).Before(time.UnixMilli(int64(*s.ExpiresAt*1000)))
}

// with returns the state after an authorization server has given a token.
func (s State) with(token *oauth2.Token, now time.Time) State {
	tokens := maps.Clone(s.Tokens)
	if tokens == nil {
		tokens = map[string]any{}
	}
	tokens[memberAccess], tokens["token_type"] = token.AccessToken, token.Type()
	if token.RefreshToken != "" {
		tokens[memberRefresh] = token.RefreshToken
	}
	if scope, ok := token.Extra("scope").(string); ok {
		tokens["scope"] = scope
	}
	s.Tokens, s.ExpiresAt = tokens, nil
	delete(tokens, "expires_in")
	if token.ExpiresIn > 0 {
		tokens["expires_in"] = token.ExpiresIn
		at := float64(now.UnixMilli())/1000 + float64(token.ExpiresIn)
		s.ExpiresAt = &at
	}
	return s
}

// client makes the client of a stored login.
func (s State) client(settings Settings) *oauth2.Config {
	c := &oauth2.Config{ClientID: settings.ClientID, ClientSecret: settings.ClientSecret}
	method := settings.AuthMethod
	if c.ClientID == "" {
		c.ClientID, c.ClientSecret = text(s.ClientInfo, memberID), text(s.ClientInfo, memberSecret)
	}
	if method == "" {
		method = text(s.ClientInfo, memberMethod)
	}
	switch {
	case method == methodBasic:
		c.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	case method == methodPost, c.ClientSecret == "":
		c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return c
}

// The ways in which a client shows an authorization server who it is.
const (
	methodNone  = "none"
	methodPost  = "client_secret_post"
	methodBasic = "client_secret_basic"
)

// Store keeps logins by the URLs of their servers. Its methods may be called at the
// same time.
type Store interface {
	// Load returns the login of a server. ok is false where the store does not know the
	// server; the state of a known one can be zero.
	Load(ctx context.Context, url string) (s State, ok bool, err error)
	// Save replaces the login of a server that the store knows.
	Save(ctx context.Context, url string, s State) error
}

// Memory is a Store of one server, whose login ends with it.
type Memory struct {
	mu    sync.Mutex
	state State
}

// NewMemory begins with a login, which may be zero.
func NewMemory(s State) *Memory { return &Memory{state: s} }

// Load returns the login.
func (m *Memory) Load(context.Context, string) (State, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state, true, nil
}

// Save replaces the login.
func (m *Memory) Save(_ context.Context, _ string, s State) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = s
	return nil
}

// SameServer reports whether two URLs are of one server; OpenHands does not count a
// slash at the end.
func SameServer(a, b string) bool { return strings.TrimRight(a, "/") == strings.TrimRight(b, "/") }
