package several

import (
	"context"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
)

// Open makes a conversation where its profile is, or continues it where it is noted.
func (b *Backend) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	if !req.New {
		at, err := b.noted(req.ID)
		if err != nil {
			return nil, err
		}
		if at != nil {
			c, err := b.again(ctx, at, req)
			if req.Existing || !errors.Is(err, agentapi.ErrConversationNotFound) {
				return c, err
			}
		}
	}
	at, name, err := b.route(ctx, req.Profile)
	if err != nil {
		return nil, err
	}
	if at != nil && !req.New {
		c, err := b.main.Open(ctx, agentapi.OpenRequest{ID: req.ID, Existing: true, Once: req.Once, Progress: req.Progress})
		if !errors.Is(err, agentapi.ErrConversationNotFound) {
			return b.wrap(nil, c, err)
		}
	}
	if at == nil {
		c, err := b.main.Open(ctx, req)
		return b.wrap(nil, c, err)
	}
	req.Profile = name
	return b.begin(ctx, at, req)
}

// again opens a conversation that is noted for a server. One that the server does not
// have is noted no longer.
func (b *Backend) again(ctx context.Context, at *server, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	req.Profile, req.Existing = "", true
	var c agentapi.Conversation
	err := at.use(ctx, func(to agentapi.Backend) (err error) {
		c, err = to.Open(ctx, req)
		return err
	})
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		err = errors.Join(err, b.notes.drop(req.ID))
	}
	return b.wrap(at, c, err)
}

// begin makes a conversation on a server, or finds one there that was made without
// ohgw. The note comes first: with it a crash loses no conversation.
func (b *Backend) begin(ctx context.Context, at *server, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	if err := b.notes.put(req.ID, at.Name); err != nil {
		return nil, err
	}
	var c agentapi.Conversation
	err := at.use(ctx, func(to agentapi.Backend) (err error) {
		c, err = to.Open(ctx, req)
		return err
	})
	if err != nil && !errors.Is(err, agentapi.ErrUncertain) && ctx.Err() == nil {
		err = errors.Join(err, b.notes.drop(req.ID))
	}
	return b.wrap(at, c, err)
}

// conversation is one of a backend here, which is that of a server unless at is nil.
type conversation struct {
	agentapi.Conversation

	b  *Backend
	at *server
}

func (b *Backend) wrap(at *server, c agentapi.Conversation, err error) (agentapi.Conversation, error) {
	if err != nil {
		return nil, err
	}
	wrapped := &conversation{c, b, at}
	if inner, ok := c.(agentapi.Fenced); ok {
		return &fenced{wrapped, inner}, nil
	}
	return wrapped, nil
}

// fenced is a conversation whose message and run are two calls.
type fenced struct {
	*conversation

	inner agentapi.Fenced
}

var _ agentapi.Fenced = (*fenced)(nil)

// Append appends a message and starts nothing.
func (c *fenced) Append(ctx context.Context, m agentapi.Message) error {
	return c.inner.Append(ctx, m) //nolint:wrapcheck // its own error
}

// Start starts the run of what was appended.
func (c *fenced) Start(ctx context.Context) error {
	return c.inner.Start(ctx) //nolint:wrapcheck // its own error
}

// Info is how the conversation was when it was opened.
func (c *conversation) Info() agentapi.Info {
	info := c.Conversation.Info()
	if c.at != nil {
		info.Profile = c.at.full(info.Profile)
	}
	return info
}

// Switch makes the following turns use another profile of the same backend.
func (c *conversation) Switch(ctx context.Context, profile string) error {
	at, name, err := c.b.route(ctx, profile)
	switch {
	case err != nil:
		return err
	case at == c.at:
		return c.Conversation.Switch(ctx, name) //nolint:wrapcheck // its own error
	}
	if _, err := c.b.Profile(ctx, profile); err != nil {
		return err
	}
	msg := fmt.Sprintf("The conversation is on the server %[2]s. Use one of its models, which end with %[1]s%[2]s, or copy it to this machine: ohgw conversations pull ID --server %[2]s.", mark, nameOf(c.at))
	if c.at == nil {
		msg = fmt.Sprintf("The conversation is not on the server %[1]s. Use a model of where it is, or start a new conversation with this model.", at.Name)
	}
	return &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: msg}
}

func nameOf(s *server) string {
	if s == nil {
		return ""
	}
	return s.Name
}

// Fork makes a copy where the conversation is.
func (c *conversation) Fork(ctx context.Context, req agentapi.ForkRequest) (agentapi.Conversation, error) {
	if c.at == nil {
		copied, err := c.Conversation.Fork(ctx, req)
		return c.b.wrap(nil, copied, err)
	}
	if err := c.b.notes.put(req.ID, c.at.Name); err != nil {
		return nil, err
	}
	copied, err := c.Conversation.Fork(ctx, req)
	if err != nil && !errors.Is(err, agentapi.ErrUncertain) && ctx.Err() == nil {
		err = errors.Join(err, c.b.notes.drop(req.ID))
	}
	return c.b.wrap(c.at, copied, err)
}
