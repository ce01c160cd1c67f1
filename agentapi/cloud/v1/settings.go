package v1

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

// Profiles is the LLM profiles of the account.
type Profiles struct {
	Profiles      transport.List[Profile] `json:"profiles"`
	ActiveProfile *string                 `json:"active_profile"`
}

// Profile is one of them.
type Profile struct {
	Name      string  `json:"name"`
	Model     *string `json:"model"`
	BaseURL   *string `json:"base_url"`
	APIKeySet bool    `json:"api_key_set"`
}

// Profiles lists the profiles.
func (a API) Profiles(ctx context.Context) (p Profiles, err error) {
	err = a.T.Call(ctx, transport.Request{Path: "/api/v1/settings/profiles", Out: &p})
	return p, err
}

// Model is one that the server knows.
type Model struct {
	Provider *string `json:"provider"`
	Name     string  `json:"name"`
	Hidden   bool    `json:"hidden"`
}

// Models is a page of the models.
func (a API) Models(ctx context.Context, page string) (p Page[Model], err error) {
	err = a.T.Call(ctx, transport.Request{Path: "/api/v1/config/models/search", Query: Paged(page, MaxPage), Out: &p})
	return p, err
}
