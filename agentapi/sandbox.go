package agentapi

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Block is something that the sandbox of an agent refused.
type Block = event.Block

// Sandboxed is a [Backend] whose agents may run in a sandbox of ohgw. Backends
// whose agents run elsewhere have no such methods.
type Sandboxed interface {
	// Sandbox returns the sandbox of new conversations. It sends no request and does not
	// wait.
	Sandbox(ctx context.Context) SandboxStatus

	// Allow answers what the sandbox of a conversation refused. It is for what the
	// user said, never for what an agent or a workspace says. An unknown id is
	// ErrConversationNotFound, a target that cannot be allowed ErrRefused, a
	// sandbox that takes no grants ErrUnsupported.
	Allow(ctx context.Context, id string, g Grant) error
}

// SandboxStatus is the sandbox that new conversations get.
type SandboxStatus struct {
	Level    string   // "full", "reduced", "external" or "off"
	Reason   string   // why it is not full; may be empty
	Fix      string   // what to do about that; may be empty
	Landlock int      // its ABI; 0: it is not used
	Open     []string // what is open beyond the workspace, each for people: "network: proxy.example.com"
}

// Grant is what the user answered to a block.
type Grant struct {
	Access string // as in a [Block]
	Target string // as in a [Block], or as in its Allow
	Scope  GrantScope
}

// GrantScope is how far a grant reaches.
type GrantScope string

// The scopes of a grant.
const (
	GrantOnce         GrantScope = "once"         // what waits now, or the next such access
	GrantConversation GrantScope = "conversation" // in the same conversation
	GrantWorkspace    GrantScope = "workspace"    // all conversations in the same directory
	GrantNo           GrantScope = "no"           // it stays refused, and what waits is told so
)
