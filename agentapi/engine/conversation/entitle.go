package conversation

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/title"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/rescue"
)

const (
	titleUsage = "title" // the key of its numbers in the statistics
	titleTime  = time.Minute
)

// entitle finds a title for a conversation that begins with message, beside
// the run: nobody waits for it, and it is not an event.
func (c *Conversation) entitle(message string) {
	choice := Choice{Profile: c.agent.choice.Profile, Usage: titleUsage}
	c.door.workers.Go(func() {
		if err := rescue.Do(func() error { c.findTitle(choice, message); return nil }); err != nil {
			c.cfg.Log.Error("no title", "conversation", c.branch.id, "err", err)
		}
	})
}

func (c *Conversation) findTitle(choice Choice, message string) {
	ctx, cancel := context.WithTimeout(context.Background(), titleTime)
	defer cancel()
	c.door.workers.Go(func() {
		select {
		case <-c.door.gone:
			cancel()
		case <-ctx.Done():
		}
	})
	var resp llm.Response
	model, err := c.cfg.Models.Model(ctx, choice)
	if err == nil {
		resp, err = call(ctx, model, llm.Request{Messages: []event.LLMMessage{title.Request(message)}, CacheKey: c.branch.id}, nil)
	}
	if err != nil {
		c.cfg.Log.Info("no title from the model", "conversation", c.branch.id, "err", err)
	}
	text := title.Of(event.PlainText(resp.Message.Content), message)
	// Closed meanwhile: then there is nothing to write a title to.
	_ = c.door.try(context.Background(), func() error {
		if err == nil {
			c.branch.stats.add(model.Info(), resp, c.cfg.Now())
		}
		if c.branch.dir.Meta().Description().Title != "" { // it has got one meanwhile
			return nil
		}
		if err := c.branch.dir.Touch(c.cfg.Now(), c.cfg.Secrets.Mask(text)); err != nil {
			c.cfg.Log.Warn("save title", "conversation", c.branch.id, "err", err)
		}
		return nil
	})
}
