package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/control"
)

// Start makes a conversation, or continues the one with that id.
func (c controlled) Start(ctx context.Context, s control.Start) (control.Conversation, bool, error) {
	if s.ID == "" {
		s.ID = c.b.cfg.NewID()
	}
	conv, err := inControl(c.b.entered(ctx, s.ID, func(e *entry) (bool, error) {
		c.b.expect(e, true)
		c.b.clear(e)
		if e.conv != nil {
			return false, nil
		}
		return false, errNotYet
	}))
	if err != nil {
		return nil, false, err
	}
	return conv, conv.Info().Created, nil
}
