package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	v1 "github.com/ohgw/ohgw/agentapi/cloud/v1"
)

// Send gives a conversation a message, which starts a run. It is sent once: if it
// is not known whether it arrived, the error is ErrUncertain. A conversation that
// sleeps is ErrAsleep: wake it, then send again.
func (c *Client) Send(ctx context.Context, id, text string, images []string) error {
	conv, err := c.Get(ctx, id)
	if err != nil {
		return err
	}
	if conv.State == StateArchived {
		return fmt.Errorf("conversation %s: %w", conv.ID, ErrArchived)
	}
	if conv.Version == V0 {
		if len(images) > 0 {
			return fmt.Errorf("%w: a V0 conversation takes images in its first message only", ErrRefused)
		}
		if conv.State == StateAsleep {
			return fmt.Errorf("conversation %s: %w", conv.ID, ErrAsleep)
		}
		err = c.v0.Send(ctx, conv.ID, text)
	} else {
		err = c.v1.Send(ctx, conv.ID, v1.UserMessage(text, images))
	}
	switch {
	case errors.Is(err, ErrNotFound): // The conversation is there, so it is the sandbox that is not.
		return fmt.Errorf("conversation %s: %w: %w", conv.ID, ErrArchived, err)
	case err == nil, transport.Declined(err), errors.Is(err, ErrRefused):
		return c.forget(err)
	}
	return fmt.Errorf("send to conversation %s: %w: %w", conv.ID, ErrUncertain, err)
}

// Remove deletes a conversation. Its sandbox goes with it, if no other conversation
// is in it; so do its files.
func (c *Client) Remove(ctx context.Context, id string) error {
	conv, err := c.Get(ctx, id)
	if err != nil {
		return err
	}
	if conv.Version == V0 {
		return c.v0.Delete(ctx, conv.ID)
	}
	return c.v1.Delete(ctx, conv.ID)
}

// Rename changes the title.
func (c *Client) Rename(ctx context.Context, id, title string) error {
	conv, err := c.Get(ctx, id)
	if err != nil {
		return err
	}
	if conv.Version == V0 {
		return c.v0.Rename(ctx, conv.ID, title)
	}
	return c.title(ctx, conv, title)
}

// title sets the title of a V1 conversation, first in its sandbox: while it is new,
// the server takes the title from there.
func (c *Client) title(ctx context.Context, conv Conversation, title string) error {
	if conv.State == StateRunning && conv.base != nil {
		if err := c.agent(conv).Rename(ctx, conv.ID, title); err != nil {
			c.log.DebugContext(ctx, "the sandbox does not take the title", "conversation", conv.ID, "err", err)
		}
	}
	return c.v1.Rename(ctx, conv.ID, title)
}

// Pause puts a conversation to sleep. A sandbox that other conversations use stays
// awake: that is ErrRefused.
func (c *Client) Pause(ctx context.Context, id string) error {
	conv, err := c.Get(ctx, id)
	if err != nil {
		return err
	}
	if conv.Version == V0 {
		return c.v0.Stop(ctx, conv.ID)
	}
	if conv.State == StateArchived {
		return fmt.Errorf("conversation %s: %w", conv.ID, ErrArchived)
	}
	users, err := c.v1.Search(ctx, "", conv.SandboxID, "", 0)
	if err != nil {
		return err
	}
	for _, other := range users.Items {
		if transport.Hex(other.ID) != conv.ID {
			return fmt.Errorf("%w: conversation %s is in the same sandbox", ErrRefused, transport.Hex(other.ID))
		}
	}
	return c.v1.Pause(ctx, conv.SandboxID)
}
