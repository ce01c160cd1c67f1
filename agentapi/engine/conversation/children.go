package conversation

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Progress tells those who watch a line about what a tool is doing. The log does not
// have it.
func (c *Conversation) Progress(line string) {
	masked := c.cfg.Secrets.Mask(line)
	_ = c.door.try(context.Background(), func() error { // it does not matter to a conversation that has ended
		c.branch.live.update(event.KeyProgress, masked)
		return nil
	})
}

// Spent replaces what the statistics have under a key by the sum of others: those of
// a conversation that belongs to this one.
func (c *Conversation) Spent(ctx context.Context, key string, s event.Stats) error {
	return c.door.try(ctx, func() error {
		c.branch.stats.Replace(key, s)
		return nil
	})
}

// Stored is the state as it is stored.
func (c *Conversation) Stored(ctx context.Context) (s store.State, err error) {
	err = c.door.try(ctx, func() error { s = c.branch.dir.State.Clone(); return nil })
	return s, err
}
