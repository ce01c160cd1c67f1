package agentserver

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
)

var _ agentapi.Fenced = (*conversation)(nil)

// Append appends the message and starts nothing.
func (c *conversation) Append(ctx context.Context, m agentapi.Message) error {
	if err := c.say(ctx, m, false); err != nil {
		return err
	}
	if c.uncounted.Swap(false) {
		c.count(ctx)
	}
	return nil
}

// Start starts the run. The server refuses a second one, and does nothing for a
// conversation that has finished.
func (c *conversation) Start(ctx context.Context) error {
	if err := c.run(ctx); !errors.Is(err, agentapi.ErrBusy) {
		return err
	}
	return nil
}
