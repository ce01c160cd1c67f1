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

// Control returns the backend as OpenHands' own programs see it: the same
// conversations, with the same locks and the same queues.
func (b *Backend) Control() control.Engine { return controlled{b.library, b} }

var _ control.Library = controlled{}

// Library is the conversations of the backend, for programs that open none of them.
func (b *Backend) Library() control.Library { return controlled{b.library, b} }

// Remove deletes a conversation.
func (c controlled) Remove(ctx context.Context, id string) error { return c.b.Remove(ctx, id) }

// Open continues a conversation.
func (c controlled) Open(ctx context.Context, id string) (control.Conversation, error) {
	s, err := c.b.opened(ctx, agentapi.OpenRequest{ID: id, Existing: true}, nil)
	if err != nil {
		return nil, err
	}
	return session.Controlled{Session: s}, nil
}

// Start makes a conversation, or continues the one with that id.
func (c controlled) Start(ctx context.Context, s control.Start) (control.Conversation, bool, error) {
	if s.ID == "" {
		s.ID = c.b.cfg.NewID()
	}
	made, err := c.b.opened(ctx, agentapi.OpenRequest{ID: s.ID}, func() (founding, error) {
		f, err := c.b.founder.ofStart(ctx, s)
		if len(s.Plugins) > 0 {
			f.undo = func() { c.b.plugins.DropCheckouts(ctx, s.ID) }
		}
		return f, err
	})
	if err != nil {
		return nil, false, err
	}
	return session.Controlled{Session: made}, made.Info().Created, nil
}

// Rest closes the conversations that are open. A run is interrupted first, and stays
// paused. The next request for a conversation opens it again.
func (c controlled) Rest(ctx context.Context) error {
	return agentapi.InProcess(c.b.table.each(func(e *entry) error { return c.b.table.rest(ctx, e) }))
}
