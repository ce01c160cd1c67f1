package account

import (
	"context"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/optional"
)

// Profile is an LLM profile of the account.
type Profile struct {
	Name    string `json:"name"`
	Model   string `json:"model"`
	BaseURL string `json:"base_url,omitempty"`
	Active  bool   `json:"active"`
	HasKey  bool   `json:"has_key"`
}

// Profiles lists the account's LLM profiles. A V0 server has none.
func (c *Client) Profiles(ctx context.Context) ([]Profile, error) {
	server, err := c.known(ctx)
	if err != nil || !server.V1 {
		return nil, err
	}
	got, err := c.v1.Profiles(ctx)
	if absent(err) {
		return nil, nil // An app-server before profiles.
	}
	if err != nil {
		return nil, err
	}
	var list []Profile
	for _, p := range got.Profiles {
		list = append(list, Profile{
			Name: p.Name, Model: optional.Value(p.Model), BaseURL: optional.Value(p.BaseURL), Active: p.Name == optional.Value(got.ActiveProfile), HasKey: p.APIKeySet,
		})
	}
	return list, nil
}

// maxModelPages bounds a list that does not end.
const maxModelPages = 1000

// Models lists the models that the server knows.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	server, err := c.known(ctx)
	if err != nil {
		return nil, err
	}
	if !server.V1 {
		return c.v0.Models(ctx)
	}
	var names []string
	token := ""
	for range maxModelPages {
		page, err := c.v1.Models(ctx, token)
		if err != nil {
			return nil, c.forget(err)
		}
		for _, m := range page.Items {
			switch provider := optional.Value(m.Provider); {
			case m.Hidden:
			case provider == "":
				names = append(names, m.Name)
			default:
				names = append(names, provider+"/"+m.Name)
			}
		}
		next := page.Next()
		if next == "" || next == token {
			return names, nil
		}
		token = next
	}
	return nil, fmt.Errorf("list models: %w: the list does not end", transport.ErrUpstream)
}
