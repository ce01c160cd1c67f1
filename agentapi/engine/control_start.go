package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/session"
)

// Start makes a conversation, or continues the one with that id.
func (c controlled) Start(ctx context.Context, s control.Start) (control.Conversation, bool, error) {
	if s.ID == "" {
		s.ID = c.b.cfg.NewID()
	}
	made, err := c.b.entered(ctx, s.ID, func(e *entry) (bool, error) {
		c.b.table.expect(e, true)
		c.b.table.clear(e)
		if e.now != nil {
			return false, nil
		}
		return c.b.start(ctx, e, agentapi.OpenRequest{ID: s.ID}, func() (founding, error) {
			f, err := c.b.founder.ofStart(ctx, s)
			if len(s.Plugins) > 0 {
				f.undo = func() { c.b.plugins.DropCheckouts(ctx, s.ID) }
			}
			return f, err
		})
	})
	if err != nil {
		return nil, false, err
	}
	return session.Controlled{Session: made}, made.Info().Created, nil
}
