package daemontest

import (
	"context"
	"slices"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
)

// Sandboxed is a backend whose agents have a sandbox.
type Sandboxed struct {
	*Backend

	Box    agentapi.SandboxStatus
	Refuse error // of every grant

	mu      sync.Mutex
	granted []agentapi.Grant
}

// Sandbox implements [agentapi.Sandboxed].
func (b *Sandboxed) Sandbox(context.Context) agentapi.SandboxStatus { return b.Box }

// Allow implements [agentapi.Sandboxed].
func (b *Sandboxed) Allow(_ context.Context, id string, g agentapi.Grant) error {
	if _, err := b.known(id); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.granted = append(b.granted, g)
	return b.Refuse
}

// Granted are the grants, in order.
func (b *Sandboxed) Granted() []agentapi.Grant {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.granted)
}
