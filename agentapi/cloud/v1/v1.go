// Package v1 is the API of the app-server, as calls with types: conversations,
// start tasks, sandboxes, stored events, settings. It knows routes and shapes, not
// what they are good for; fields that ohgw does not use are left out, and unknown
// values of enums are passed on.
package v1

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

// MaxPage is the largest page that a server gives.
const MaxPage = 100

// API makes the calls.
type API struct{ T *transport.Client }

// Page is one page of a list. NextPageID is nil at its end.
type Page[T any] struct {
	Items      transport.List[T] `json:"items"`
	NextPageID *string           `json:"next_page_id"`
}

// Next is the token of the next page, "" at the end.
func (p Page[T]) Next() string {
	if p.NextPageID == nil {
		return ""
	}
	return *p.NextPageID
}

// Paged is the part of a query that all lists share.
func Paged(page string, limit int) url.Values {
	q := url.Values{}
	if page != "" {
		q.Set("page_id", page)
	}
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	q.Set("limit", strconv.Itoa(limit))
	return q
}

// Count asks for the number of conversations, which proves that the server speaks
// V1 and takes the key.
func (a API) Count(ctx context.Context) (n int64, err error) {
	err = a.T.Call(ctx, transport.Request{Path: "/api/v1/app-conversations/count", Out: &n})
	return n, err
}

// WebClientConfig is what the web app is told before login.
type WebClientConfig struct {
	AppMode string `json:"app_mode"`
}

// WebClientConfig asks without a key.
func (a API) WebClientConfig(ctx context.Context) (c WebClientConfig, err error) {
	err = a.T.Call(ctx, transport.Request{Path: "/api/v1/web-client/config", Keyless: true, Out: &c})
	return c, err
}

// ServerInfo is what an agent-server says of itself. An app-server answers too,
// without a version.
type ServerInfo struct {
	Version string `json:"version"`
}

// ServerInfo asks without a key.
func (a API) ServerInfo(ctx context.Context) (s ServerInfo, err error) {
	err = a.T.Call(ctx, transport.Request{Path: "/server_info", Keyless: true, Out: &s})
	return s, err
}

// CurrentKey is the key that the request was made with.
type CurrentKey struct {
	Name       string  `json:"name"`
	OrgID      *string `json:"org_id"`
	BoundOrgID *string `json:"bound_org_id"`
	UserID     string  `json:"user_id"`
}

// CurrentKey is for hosted servers.
func (a API) CurrentKey(ctx context.Context) (k CurrentKey, err error) {
	err = a.T.Call(ctx, transport.Request{Path: "/api/keys/current", Out: &k})
	return k, err
}

// User is who the key belongs to.
type User struct {
	ID    *string `json:"id"`
	Email *string `json:"email"`
	Name  *string `json:"git_user_name"`
}

// Me is the owner of the key; self-hosted servers have no users.
func (a API) Me(ctx context.Context) (u User, err error) {
	err = a.T.Call(ctx, transport.Request{Path: "/api/v1/users/me", Out: &u})
	return u, err
}

type success struct {
	Success bool `json:"success"`
}

// change makes a call that answers with success or an error.
func (a API) change(ctx context.Context, r transport.Request) error {
	var s success
	r.Out = &s
	if r.Method == "" {
		r.Method = http.MethodPost
	}
	return a.T.Call(ctx, r)
}
