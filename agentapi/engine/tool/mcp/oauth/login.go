package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// clientName is what authorization servers are told where the settings say nothing.
const clientName = "ohgw"

// login lets a person log in, and stores the tokens. It closes the body.
func (h *Handler) login(ctx context.Context, req *http.Request, resp *http.Response, asked challenge) error {
	server, err := h.discover(ctx, asked.metadata())
	if err != nil {
		return errors.Join(err, resp.Body.Close())
	}
	cfg, err := h.loginConfig(server)
	if err != nil {
		return errors.Join(err, resp.Body.Close())
	}
	var stored error
	cfg.NewTokenSource = func(ctx context.Context, client *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
		state := State{ClientInfo: h.clientInfo(client, server)}.with(token, h.cfg.Now())
		stored = h.save(ctx, state)
		return oauth2.StaticTokenSource(token), stored
	}
	flow, err := auth.NewAuthorizationCodeHandler(cfg)
	if err != nil {
		return errors.Join(told("prepare the login", err), resp.Body.Close())
	}
	err = flow.Authorize(ctx, req, resp)
	switch {
	case stored != nil:
		return stored
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return told("log in at the authorization server", err)
	}
	return nil
}

// loginConfig makes a login of the SDK out of the settings.
func (h *Handler) loginConfig(server *oauthex.AuthServerMeta) (*auth.AuthorizationCodeHandlerConfig, error) {
	s, to := h.cfg.Settings, h.cfg.Browser.RedirectURL
	cfg := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: to, RequestRefreshToken: true, AcceptUnadvertisedIss: true, Client: h.client,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return h.cfg.Browser.Visit(ctx, args.URL)
		},
	}
	if len(s.Scopes) > 0 {
		cfg.ScopeFilter = func([]string) []string { return slices.Clone(s.Scopes) }
	}
	if s.MetadataURL != "" {
		cfg.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: s.MetadataURL}
	}
	if s.ClientID != "" {
		cfg.PreregisteredClient = &oauthex.ClientCredentials{ClientID: s.ClientID}
		if s.ClientSecret != "" {
			cfg.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: s.ClientSecret}
		}
		return cfg, nil
	}
	client := &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{to}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		ClientName: clientName, SoftwareID: clientName, SoftwareVersion: h.cfg.Version,
		Scope: strings.Join(s.Scopes, " "), TokenEndpointAuthMethod: authMethod(server.TokenEndpointAuthMethodsSupported),
	}
	if s.ClientName != "" {
		client.ClientName = s.ClientName
	}
	if len(s.Additional) > 0 {
		if err := json.Unmarshal(s.Additional, client); err != nil {
			return nil, failed("log in", "additional_client_metadata in its settings has members of a wrong type")
		}
	}
	if s.AuthMethod != "" {
		client.TokenEndpointAuthMethod = s.AuthMethod
	}
	cfg.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: client}
	return cfg, nil
}

// authMethod is the way to show who we are that is asked for: none, which has no secret
// to keep, if the authorization server knows it.
func authMethod(supported []string) string {
	for _, method := range []string{methodNone, methodPost, methodBasic} {
		if slices.Contains(supported, method) {
			return method
		}
	}
	return ""
}

// clientInfo describes a client as OpenHands stores it.
func (h *Handler) clientInfo(client *oauth2.Config, server *oauthex.AuthServerMeta) map[string]any {
	info := map[string]any{
		memberID: client.ClientID, memberIssuer: server.Issuer,
		"redirect_uris": []string{client.RedirectURL},
		"grant_types":   []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	}
	if len(client.Scopes) > 0 {
		info["scope"] = strings.Join(slices.Sorted(slices.Values(client.Scopes)), " ") // the SDK has them in any order
	}
	method := h.cfg.Settings.AuthMethod
	switch {
	case method != "":
	case client.ClientSecret == "":
		method = methodNone
	case client.Endpoint.AuthStyle == oauth2.AuthStyleInParams:
		method = methodPost
	case client.Endpoint.AuthStyle == oauth2.AuthStyleInHeader:
		method = methodBasic
	}
	if client.ClientSecret != "" {
		info[memberSecret] = client.ClientSecret
	}
	if method != "" {
		info[memberMethod] = method
	}
	return info
}
