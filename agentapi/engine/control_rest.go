package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
)

// Rest closes the conversations that are open. A run is interrupted first, and stays
// paused. The next request for a conversation opens it again.
func (c controlled) Rest(ctx context.Context) error {
	return agentapi.InProcess(c.b.table.each(func(e *entry) error { return c.b.table.rest(ctx, e) }))
}
