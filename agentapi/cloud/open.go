package cloud

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
)

// cleanTimeout bounds the removal of what was started in vain.
const cleanTimeout = 30 * time.Second

// Open starts the conversation, or wakes it.
func (b *Backend) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	if req.New && req.Existing {
		return nil, refused("A conversation cannot be both new and existing.", nil)
	}
	if !req.New {
		at, err := b.reach(ctx, req.ID, req.Progress)
		if err == nil {
			l, err := b.link(ctx, req.ID, at, nil)
			if err != nil {
				return nil, err
			}
			return newConversation(b, l), nil
		}
		if req.Existing || !errors.Is(err, agentapi.ErrConversationNotFound) {
			return nil, err
		}
	}
	return b.begin(ctx, req)
}

// reach is where the agent-server of a conversation is, once its sandbox is awake.
func (b *Backend) reach(ctx context.Context, id string, progress func(string)) (account.Runtime, error) {
	at, err := b.account.Wake(ctx, id, steps(progress))
	switch {
	case errors.Is(err, account.ErrNotFound):
		return at, conversationNotFound(id, err)
	case err != nil:
		return at, b.fault(ctx, "wake the sandbox of the conversation", err)
	case at.Version != account.V1:
		return at, refused("The conversation is one of OpenHands' old API, whose agents ohgw cannot run. Start a new one.", nil)
	}
	return at, nil
}

// begin starts a conversation. What was started in vain is removed again.
func (b *Backend) begin(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	p, err := b.profile(ctx, req.Profile)
	if err != nil {
		return nil, err
	}
	if _, err := b.account.Start(ctx, account.StartRequest{ID: req.ID, System: req.System}, steps(req.Progress)); err != nil {
		return nil, b.fault(ctx, "start the conversation", err)
	}
	c, err := b.furnish(ctx, req)
	if err != nil {
		b.tidy(req.ID)
		return nil, err
	}
	c.info.Created = true
	c.stage = begun
	if p.Active { // its LLM is that of the settings, which a new conversation has
		c.stage = ready
	}
	return c, nil
}

// furnish notes with a new conversation what it is for, and opens it.
func (b *Backend) furnish(ctx context.Context, req agentapi.OpenRequest) (*conversation, error) {
	at, err := b.account.Runtime(ctx, req.ID)
	if err != nil {
		return nil, b.fault(ctx, "reach the sandbox", err)
	}
	l, err := b.link(ctx, req.ID, at, func(agent Agent) error {
		return agent.Mark(ctx, req.ID, req.Profile, &req.System, "")
	})
	if err != nil {
		return nil, err
	}
	return newConversation(b, l), nil
}

// tidy removes a conversation that no caller got: its sandbox would continue to run, at
// the account's cost. It does not keep the caller waiting.
func (b *Backend) tidy(id string) {
	b.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.life), cleanTimeout)
		defer cancel()
		err := b.account.Remove(ctx, id)
		if err != nil && !errors.Is(err, account.ErrNotFound) {
			b.log.Warn("a sandbox that was started in vain cannot be removed; remove it with ohgw conversations", "conversation_id", id, "err", err)
		}
	})
}

// link makes the connection to a conversation in a sandbox that runs. First is called before
// the conversation is opened; it may be nil.
func (b *Backend) link(ctx context.Context, id string, at account.Runtime, first func(Agent) error) (*link, error) {
	agent, err := b.connect(at.Address, at.Key)
	if err != nil {
		return nil, b.unreachable(err)
	}
	if first != nil {
		err = first(agent)
	}
	var conv agentapi.Conversation
	if err == nil {
		conv, err = agent.Open(ctx, agentapi.OpenRequest{ID: id, Existing: true})
	}
	if err != nil {
		return nil, errors.Join(b.told(err), agent.Close())
	}
	return &link{at: at, agent: agent, conv: conv}, nil
}
