package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// LoadPlugin gives a conversation a plugin of its marketplaces. What an agent has is
// settled when the conversation is opened, so it is closed for that and opened again.
func (c controlled) LoadPlugin(ctx context.Context, id, ref string) error {
	conv, err := c.b.entered(ctx, id, func(e *entry) (bool, error) {
		c.b.table.expect(e, true)
		if err := c.b.loadPlugin(ctx, e, id, ref); err != nil {
			return false, err
		}
		return c.b.start(ctx, e, agentapi.OpenRequest{ID: id, Existing: true}, nil)
	})
	if err != nil {
		return err
	}
	return conv.Close()
}

// loadPlugin changes the stored conversation; the mutex of its entry is held.
func (b *Backend) loadPlugin(ctx context.Context, e *entry, id, ref string) error {
	state, err := store.Peek(b.cfg.Dir, id)
	if err != nil {
		return b.opening.Explain(ctx, id, err)
	}
	p, err := b.plugins.Find(ctx, id, state, ref)
	if err != nil {
		return err
	}
	if e.now != nil {
		working, err := e.now.conv.Working(ctx)
		if err != nil || working {
			return &agentapi.Error{Kind: agentapi.ErrBusy, Msg: "The agent is working; pause it, or wait for the end of its run, and load the plugin then.", Err: err}
		}
		if err := e.now.conv.CloseForChange(); err != nil {
			b.cfg.Log.Warn("close conversation", "conversation", id, "err", err)
		}
		e.now = nil
	}
	return b.opening.Explain(ctx, id, store.Amend(b.cfg.Dir, id, b.cfg.storeOptions(), func(d *store.Dir) error { return b.plugins.Amend(d, p) }))
}
