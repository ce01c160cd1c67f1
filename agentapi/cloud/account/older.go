package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	v0 "github.com/ohgw/ohgw/agentapi/cloud/v0"
)

// startV0 makes a V0 conversation. Such a server takes no id and no model.
func (c *Client) startV0(ctx context.Context, r StartRequest, report func(Progress)) (Conversation, error) {
	if r.ID != "" || r.Model != "" || r.Profile != "" {
		return Conversation{}, fmt.Errorf("%w: a V0 server takes no id, model or profile", ErrRefused)
	}
	report(Progress{State: v0.Starting})
	made, err := c.v0.Create(ctx, v0.CreateRequest{
		Repository: r.Repo, GitProvider: r.Provider, SelectedBranch: r.Branch,
		InitialUserMsg: r.Text, ImageURLs: r.Images, ConversationInstructions: r.System,
	})
	switch {
	case err != nil && (transport.Declined(err) || errors.Is(err, ErrRefused)):
		return Conversation{}, err
	case err != nil:
		return Conversation{}, fmt.Errorf("start a conversation: %w: %w", ErrUncertain, err)
	case made.ConversationID == "":
		return Conversation{}, fmt.Errorf("start a conversation: %w: the answer has no id", ErrUncertain)
	}
	conv, err := c.ready(ctx, made.ConversationID)
	if err == nil {
		conv, err = c.wakeV0(ctx, conv, report)
	}
	if err != nil {
		return Conversation{}, fmt.Errorf("conversation %s: %w: %w", made.ConversationID, ErrStart, err)
	}
	if r.Title != "" {
		if err := c.v0.Rename(ctx, conv.ID, r.Title); err != nil {
			c.log.WarnContext(ctx, "a new conversation keeps the title that the server gave it", "conversation", conv.ID, "err", err)
		} else {
			conv.Title = clean(r.Title)
		}
	}
	return conv, nil
}

// wakeV0 starts a V0 conversation and waits until it runs.
func (c *Client) wakeV0(ctx context.Context, conv Conversation, report func(Progress)) (Conversation, error) {
	if conv.State == StateArchived {
		return conv, fmt.Errorf("conversation %s: %w", conv.ID, ErrArchived)
	}
	id := conv.ID
	pace := c.newPace(10 * time.Second)
	var last error
	for asked := false; ; {
		report(Progress{State: string(conv.State)})
		switch {
		case conv.State == StateRunning && conv.base != nil:
			return conv, nil
		case conv.State == StateError && asked:
			return conv, fmt.Errorf("conversation %s: %w: the server reports an error", conv.ID, ErrUpstream)
		case !asked && conv.State != StateStarting:
			if _, err := c.v0.Start(ctx, id, providers(conv)); err != nil {
				return conv, err
			}
			asked = true
		}
		if !pace.next(ctx) {
			return conv, pace.late(ctx, "wake conversation "+id, last)
		}
		again, err := c.Get(ctx, id)
		switch {
		case err == nil:
			conv = again
		case passing(err):
			last = err
		default:
			return conv, err
		}
	}
}

// providers is whose tokens a conversation gets: that of its repository.
func providers(conv Conversation) []string {
	if conv.Provider == "" {
		return nil
	}
	return []string{conv.Provider}
}
