package account

import "context"

// SwitchProfile makes the following turns of a conversation use another LLM profile
// of the account. Its sandbox must run: else that is ErrAsleep. An unknown profile is
// ErrNotFound.
func (c *Client) SwitchProfile(ctx context.Context, id, profile string) error {
	conv, err := c.Get(ctx, id)
	if err != nil {
		return err
	}
	return c.forget(c.v1.SwitchProfile(ctx, conv.ID, profile))
}
