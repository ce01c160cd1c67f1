package mcp

import (
	"context"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
)

// newLogin makes the login to a server, nil for one that asks for none.
func newLogin(cfg Config, s server) *oauth.Handler {
	if !s.login() {
		return nil
	}
	to := oauth.Config{URL: s.URL, Store: cfg.Logins, Browser: cfg.Browser, HTTP: cfg.HTTP, Version: cfg.Version, Now: cfg.Now}
	if to.Now == nil {
		to.Now = time.Now
	}
	if s.Auth.Authentication != nil {
		to.Settings = *s.Auth.Authentication
	}
	if !s.stored {
		var own oauth.State
		if s.Auth.State != nil {
			own = *s.Auth.State
		}
		to.Store = oauth.NewMemory(own)
	}
	return oauth.New(to)
}

// remoteTransport reaches a server over HTTP.
func remoteTransport(s server, host string, through *remote, login *oauth.Handler) sdk.Transport {
	client := &http.Client{Transport: through}
	if s.Transport == "sse" {
		if login != nil { // the SDK has no logins for this transport
			client.Transport = &oauth.Transport{Handler: login, Host: host, Base: through}
		}
		return &lasting{sdk.SSEClientTransport{Endpoint: s.URL, HTTPClient: client}}
	}
	t := &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client}
	if login != nil {
		t.OAuthHandler = login
	}
	return t
}

// Login is the login to a server as it is now; zero if there is none.
func (c *Client) Login(ctx context.Context, name string) (oauth.State, error) {
	for _, m := range c.members {
		if m.name != name {
			continue
		}
		of, err := m.attach()
		if err != nil || of.login == nil {
			return oauth.State{}, err
		}
		return of.login.State(ctx)
	}
	return oauth.State{}, nil
}
