package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/agentapi"
)

// conversation is one at a member.
type conversation struct {
	agentapi.Conversation

	b       *Backend
	at      *member
	release func()
}

func (b *Backend) wrap(m *member, c agentapi.Conversation, release func(), err error) (agentapi.Conversation, error) {
	if err != nil {
		release()
		return nil, err
	}
	made := &conversation{c, b, m, release}
	if f, ok := c.(agentapi.Fenced); ok {
		return &fenced{made, f}, nil
	}
	return made, nil
}

// fenced is a conversation that takes its message and its run apart.
type fenced struct {
	*conversation

	of agentapi.Fenced
}

// Append appends a message and starts nothing.
func (c *fenced) Append(ctx context.Context, m agentapi.Message) error {
	return c.noted(c.of.Append(ctx, m))
}

// Start starts the run.
func (c *fenced) Start(ctx context.Context) error { return c.noted(c.of.Start(ctx)) }

// Close lets go of the handle, which counts as a run at the member.
func (c *conversation) Close() error {
	c.release()
	return c.Conversation.Close()
}

// noted learns from the outcome of a call.
func (c *conversation) noted(err error) error {
	c.at.note(err)
	return err
}

// Watch opens a stream.
func (c *conversation) Watch(ctx context.Context, after string) (agentapi.Stream, error) {
	s, err := c.Conversation.Watch(ctx, after)
	return s, c.noted(err)
}

// Send appends a message and starts a run.
func (c *conversation) Send(ctx context.Context, m agentapi.Message) error {
	return c.noted(c.Conversation.Send(ctx, m))
}

// Pursues implements [agentapi.Pursuer].
func (c *conversation) Pursues(ctx context.Context) error {
	pursuer, err := c.pursuer()
	if err != nil {
		return err
	}
	return c.noted(pursuer.Pursues(ctx))
}

func (c *conversation) pursuer() (agentapi.Pursuer, error) {
	pursuer, ok := c.Conversation.(agentapi.Pursuer)
	if !ok {
		return nil, &agentapi.Error{Kind: agentapi.ErrUnsupported, Err: agentapi.ErrNoGoals, Msg: "This agent-server cannot pursue goals. Leave the goal out, or use the embedded agent."}
	}
	return pursuer, nil
}

// Pursue implements [agentapi.Pursuer].
func (c *conversation) Pursue(ctx context.Context, m agentapi.Message, g agentapi.Goal) error {
	pursuer, err := c.pursuer()
	if err != nil {
		return err
	}
	return c.noted(pursuer.Pursue(ctx, m, g))
}

// Switch makes the following turns use another profile, which must be at the member as
// it is at the others.
func (c *conversation) Switch(ctx context.Context, profile string) error {
	c.b.mu.Lock()
	differs := slices.Contains(c.b.agreed.differs[c.at.name], profile)
	c.b.mu.Unlock()
	if differs {
		return &agentapi.Error{
			Kind: agentapi.ErrUnsupported,
			Msg:  fmt.Sprintf("The LLM profile %q of the agent-server %s, which has this conversation, differs from the others'. Start a new conversation with this model.", profile, c.at.name),
		}
	}
	return c.noted(c.Conversation.Switch(ctx, profile))
}

// Fork makes a copy where the conversation is.
func (c *conversation) Fork(ctx context.Context, req agentapi.ForkRequest) (agentapi.Conversation, error) {
	taken, err := c.b.cfg.Placer.Find(ctx, req.ID)
	if err == nil && taken != "" {
		return nil, &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The id of the copy is taken by another conversation."}
	}
	if err == nil {
		err = c.b.cfg.Placer.Put(ctx, req.ID, c.at.name)
	}
	if err != nil {
		return nil, noteFault(ctx, err)
	}
	release := c.at.hold(req.ID)
	copied, err := c.Conversation.Fork(ctx, req)
	c.at.note(err)
	if err != nil && !errors.Is(err, agentapi.ErrUncertain) && ctx.Err() == nil {
		c.b.forget(ctx, req.ID, c.at)
	}
	return c.b.wrap(c.at, copied, release, err)
}
