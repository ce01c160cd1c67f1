package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/library"
	"github.com/ohgw/ohgw/agentapi/engine/session"
)

// controlled is the backend as OpenHands' own programs see it: what reads conversations is
// the library, and what changes them or opens them is here.
type controlled struct {
	*library.Library

	b *Backend
}

var _ control.Engine = controlled{}

// Control is the backend as OpenHands' own programs see it: the same conversations,
// with the same locks and the same queues.
func (b *Backend) Control() control.Engine { return controlled{b.library, b} }

var _ control.Library = controlled{}

// Library is the conversations of the backend, for programs that open none of them.
func (b *Backend) Library() control.Library { return controlled{b.library, b} }

// Remove deletes a conversation.
func (c controlled) Remove(ctx context.Context, id string) error { return c.b.Remove(ctx, id) }

// Open continues a conversation.
func (c controlled) Open(ctx context.Context, id string) (control.Conversation, error) {
	s, err := c.open(ctx, id)
	if err != nil {
		return nil, err
	}
	return session.Controlled{Session: s}, nil
}

func (c controlled) open(ctx context.Context, id string) (*session.Session, error) {
	return c.b.entered(ctx, id, func(e *entry) (bool, error) {
		c.b.table.expect(e, true)
		c.b.table.clear(e)
		if e.now != nil {
			return false, nil
		}
		return c.b.start(ctx, e, agentapi.OpenRequest{ID: id, Existing: true}, nil)
	})
}
