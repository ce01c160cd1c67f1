package account

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

// SwitchProfile makes the following turns of a conversation use another LLM profile
// of the account. Its sandbox must run: else that is ErrAsleep. An unknown profile is
// ErrNotFound. A sandbox that has just started may be too busy for the server: then
// it is asked again for a while.
func (c *Client) SwitchProfile(ctx context.Context, id, profile string) error {
	conv, err := c.Get(ctx, id)
	if err != nil {
		return err
	}
	return c.switchProfile(ctx, conv.ID, profile)
}

const maxBusy = 5

func (c *Client) switchProfile(ctx context.Context, id, profile string) error {
	for n := 0; ; n++ {
		err := c.v1.SwitchProfile(ctx, id, profile)
		if n == maxBusy || !unreachable(err) || c.t.Sleep(ctx, 2*time.Second) != nil {
			return c.forget(err)
		}
	}
}

// unreachable reports whether the server has not reached the sandbox.
func unreachable(err error) bool {
	e, ok := errors.AsType[*transport.Error](err)
	return ok && e.Status == 404 && e.Is(ErrAsleep)
}
