package v1

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/hidden"
)

// The states of a sandbox.
const (
	Starting = "STARTING"
	Running  = "RUNNING"
	Paused   = "PAUSED"
	Failed   = "ERROR"
	Missing  = "MISSING"
)

// Sandbox is where conversations run.
type Sandbox struct {
	ID            string                     `json:"id"`
	Status        string                     `json:"status"`
	StatusDetail  *string                    `json:"status_detail"`
	SessionAPIKey hidden.Text                `json:"session_api_key"`
	ExposedURLs   transport.List[ExposedURL] `json:"exposed_urls"`
}

// ExposedURL is one of a sandbox's addresses. That of VSCODE has the session key
// in it.
type ExposedURL struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// AgentServer is the address of the sandbox's agent-server, "" if it has none.
func (s Sandbox) AgentServer() string {
	for _, u := range s.ExposedURLs {
		if u.Name == "AGENT_SERVER" {
			return u.URL
		}
	}
	return ""
}

// Sandboxes gives the sandboxes of these ids that the server knows.
func (a API) Sandboxes(ctx context.Context, ids ...string) (l transport.List[Sandbox], err error) {
	err = a.T.Call(ctx, transport.Request{Path: "/api/v1/sandboxes", Query: url.Values{"id": ids}, Out: &l})
	return l, err
}

// Resume wakes a sandbox. Waking one that is awake does nothing.
func (a API) Resume(ctx context.Context, id string) error {
	return a.change(ctx, transport.Request{Path: "/api/v1/sandboxes/" + url.PathEscape(id) + "/resume", Repeat: true})
}

// Pause puts a sandbox to sleep, with all conversations in it.
func (a API) Pause(ctx context.Context, id string) error {
	return a.change(ctx, transport.Request{Path: "/api/v1/sandboxes/" + url.PathEscape(id) + "/pause", Repeat: true})
}

// DeleteSandbox removes a sandbox and its files. The server reads the id from the
// query; others may read the path.
func (a API) DeleteSandbox(ctx context.Context, id string) error {
	return a.change(ctx, transport.Request{
		Method: http.MethodDelete, Path: "/api/v1/sandboxes/" + url.PathEscape(id), Query: url.Values{"sandbox_id": {id}}, Repeat: true,
	})
}
