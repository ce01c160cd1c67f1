package oauth

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// renew exchanges the refresh token of a login for a new token, and stores it. metadata
// is where the server says its metadata is; "" for where it belongs. mu is held.
func (h *Handler) renew(ctx context.Context, state State, metadata string) (State, error) {
	if state.refresh() == "" {
		return State{}, &NeededError{}
	}
	server, err := h.discover(ctx, metadata)
	if err != nil {
		return State{}, err
	}
	if issuer := text(state.ClientInfo, memberIssuer); issuer != "" && !SameServer(issuer, server.Issuer) {
		return State{}, &NeededError{} // the login was another authorization server's
	}
	client := state.client(h.cfg.Settings)
	if client.ClientID == "" {
		return State{}, &NeededError{}
	}
	client.Endpoint.TokenURL = server.TokenEndpoint
	token, err := client.TokenSource(h.with(ctx), &oauth2.Token{RefreshToken: state.refresh()}).Token()
	if over(err) {
		return State{}, &NeededError{}
	}
	if err != nil {
		return State{}, told("renew the login at the authorization server", err)
	}
	state = state.with(token, h.cfg.Now())
	return state, h.save(ctx, state)
}

// with gives golang.org/x/oauth2 the HTTP client.
func (h *Handler) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, h.client)
}

// discover finds the authorization server of the MCP server, as the SDK does for a
// login. Where it has no metadata, it is the MCP server itself.
func (h *Handler) discover(ctx context.Context, metadata string) (*oauthex.AuthServerMeta, error) {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.StepTime)
	defer cancel()
	at, err := url.Parse(h.cfg.URL)
	if err != nil {
		return nil, told("read the URL of the server", err)
	}
	root := (&url.URL{Scheme: at.Scheme, Host: at.Host}).String()
	issuer := root
	const known = "/.well-known/oauth-protected-resource"
	for _, place := range [][2]string{
		{metadata, h.cfg.URL}, {root + known + "/" + strings.TrimLeft(at.Path, "/"), h.cfg.URL}, {root + known, root},
	} {
		if place[0] == "" {
			continue
		}
		resource, err := oauthex.GetProtectedResourceMetadata(ctx, place[0], place[1], h.client)
		if err == nil && resource != nil && len(resource.AuthorizationServers) > 0 {
			issuer = resource.AuthorizationServers[0]
			break
		}
	}
	server, err := auth.GetAuthServerMetadata(ctx, issuer, h.client)
	switch {
	case err != nil && ctx.Err() != nil: // the SDK does not wrap that error
		return nil, failed("find the authorization server", "it does not answer")
	case err != nil:
		return nil, told("find the authorization server", err)
	}
	if server == nil {
		server = &oauthex.AuthServerMeta{Issuer: issuer, TokenEndpoint: strings.TrimRight(issuer, "/") + "/token"}
	}
	return server, nil
}

// challenge is what a server asks for.
type challenge []oauthex.Challenge

func challengeOf(resp *http.Response) challenge {
	list, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil // it asks for nothing that can be read
	}
	return list
}

// wantsScope reports whether the token is right, but may do too little.
func (c challenge) wantsScope() bool {
	return slices.ContainsFunc(c, func(one oauthex.Challenge) bool {
		return one.Scheme == "bearer" && one.Params["error"] == "insufficient_scope"
	})
}

// metadata is where the server says its metadata is.
func (c challenge) metadata() string {
	for _, one := range c {
		if at := one.Params["resource_metadata"]; at != "" {
			return at
		}
	}
	return ""
}
