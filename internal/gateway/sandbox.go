package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
)

// Block is something that the sandbox of the agent refused. It comes when it
// happens. One that is held comes again, not held, when no program waits for the
// decision any more.
type Block struct {
	Access string `json:"access"` // "net", "read", "write" or "socket"
	Target string `json:"target"` // "example.com:443", or a path
	Why    string `json:"why"`    // a sentence without its full stop
	// Allow is what stands after "ohgw sandbox allow" to open it; empty: nothing
	// opens it.
	Allow string `json:"allow"`
	// Held means that the program waits until the user decides.
	Held bool `json:"held"`
}

func (Block) piece() {}

// Scope is for how long something is allowed in the sandbox.
type Scope string

// The scopes.
const (
	GrantOnce         Scope = "once"
	GrantConversation Scope = "conversation"
	GrantWorkspace    Scope = "workspace" // also in later conversations of this directory
	GrantNothing      Scope = "no"        // it stays refused, and the user is not asked again
)

// Sandbox is what the commands of a gateway's agents run in.
type Sandbox struct {
	Level  string   `json:"level"`  // "full", "reduced", "off", ...; empty: not known
	Reason string   `json:"reason"` // why the level is not better
	Fix    string   `json:"fix"`    // what to do about it
	Open   []string `json:"open"`   // what is open beside the workspace
}

// Guard is the sandbox of a gateway's agents, for who may decide about it.
// [Client] is one.
type Guard interface {
	// Sandbox tells which sandbox there is.
	Sandbox(ctx context.Context) (Sandbox, error)
	// Grant decides about what was refused in a conversation. Access and Target of b
	// are as they came.
	Grant(ctx context.Context, conversation string, b Block, scope Scope) error
}

// IsForOthers reports whether err says that this client cannot decide about the
// sandbox: its key may not, or the agent has no sandbox that takes decisions.
func IsForOthers(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusForbidden || e.Status == http.StatusNotImplemented)
}

// Sandbox implements [Guard].
func (c *Client) Sandbox(ctx context.Context) (Sandbox, error) {
	var health struct {
		Sandbox Sandbox `json:"sandbox"`
	}
	err := c.within(ctx, modelsTimeout, http.MethodGet, "/healthz", nil, &health)
	return health.Sandbox, err
}

// Grant implements [Guard].
func (c *Client) Grant(ctx context.Context, conversation string, b Block, scope Scope) error {
	body, err := json.Marshal(map[string]string{"access": b.Access, "target": b.Target, "scope": string(scope)})
	if err != nil {
		return &Error{Kind: Refused, Message: "The decision cannot be encoded.", Err: err}
	}
	var answer struct{}
	return c.within(ctx, historyTimeout, http.MethodPost, "/v1/conversations/"+url.PathEscape(conversation)+"/sandbox/grants", body, &answer)
}
