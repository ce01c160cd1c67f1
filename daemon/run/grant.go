package run

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
)

// errNoSandbox is the answer of a backend whose agents ohgw puts into no sandbox.
var errNoSandbox = &agentapi.Error{
	Kind: agentapi.ErrUnsupported,
	Msg:  "The agents run in an agent-server, whose sandbox ohgw does not know; there is nothing to allow here.",
}

// Allow answers what the sandbox of a conversation refused.
func (m *Manager) Allow(ctx context.Context, a Access, conversation string, g agentapi.Grant) error {
	_, err := within(m, a, conversation, func(id string) (struct{}, error) {
		b, ok := m.cfg.Backend.(agentapi.Sandboxed)
		if !ok {
			return struct{}{}, errNoSandbox
		}
		return struct{}{}, b.Allow(ctx, id, g)
	})
	return err
}
