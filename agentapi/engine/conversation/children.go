package conversation

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Progress tells those who watch a line about what a tool is doing. The log does not
// have it.
func (c *Conversation) Progress(line string) {
	value, err := json.Marshal(c.cfg.Secrets.Mask(line))
	if err != nil {
		return // a text always can be encoded
	}
	_ = c.do(context.Background(), func() { // it does not matter to a conversation that has ended
		c.watchers.publish(c.unstored(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyProgress, Value: value}))
	})
}

// Images are those of the message that the user sent last, or of several in a row.
func (c *Conversation) Images(ctx context.Context) (urls []string, err error) {
	err = c.do(ctx, func() {
		from, to := c.view.Asked()
		for i := from; i < to; i++ {
			for _, item := range c.view.Content(i) {
				urls = append(urls, item.ImageURLs...)
			}
		}
	})
	return urls, err
}

// Spent replaces what the statistics have under a key by the sum of others: those of
// a conversation that belongs to this one.
func (c *Conversation) Spent(ctx context.Context, key string, s event.Stats) error {
	return c.do(ctx, func() {
		c.stats.replace(key, s)
		if c.job == nil {
			return
		}
		c.checkBudget()
		if value, err := json.Marshal(c.stats.totals()); err == nil { // the log has them with the step
			c.watchers.publish(c.unstored(event.SourceEnvironment, &event.StateUpdate{Key: "stats", Value: value}))
		}
	})
}

// SpentMore adds the sum of others to what the statistics have under a key.
func (c *Conversation) SpentMore(ctx context.Context, key string, s event.Stats) error {
	return c.do(ctx, func() {
		all := event.Stats{UsageToMetrics: maps.Clone(s.UsageToMetrics)}
		if before, ok := c.stats.totals().UsageToMetrics[key]; ok && all.UsageToMetrics != nil {
			all.UsageToMetrics[beforeKey] = before
		}
		c.stats.replace(key, all)
	})
}

// beforeKey is no usage id: it stands for what was counted before.
const beforeKey = "\x00before"

// Stored is the state as it is stored.
func (c *Conversation) Stored(ctx context.Context) (s store.State, err error) {
	err = c.do(ctx, func() { s = c.dir.State.Clone() })
	return s, err
}
