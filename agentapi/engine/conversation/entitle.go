package conversation

import (
	"cmp"
	"context"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/title"
	"github.com/ohgw/ohgw/agentapi/event"
)

const (
	titleUsage = "title" // the key of its numbers in the statistics
	titleTime  = time.Minute
)

// entitle finds a title for a conversation that begins with message, beside
// the run: nobody waits for it, and it is not an event.
func (c *Conversation) entitle(message string) {
	profile := c.choice.Profile
	c.workers.Go(func() {
		if err := safely(func() error { c.findTitle(profile, message); return nil }); err != nil {
			c.cfg.Log.Error("no title", "conversation", c.id, "err", err)
		}
	})
}

func (c *Conversation) findTitle(profile, message string) {
	var answer llm.Response
	var model llm.Model
	if c.cfg.Titles == title.Model {
		answer, model = c.askTitle(profile, message)
	}
	text := title.Of(event.PlainText(answer.Message.Content), message)
	// Closed meanwhile: then there is nothing to write a title to.
	_ = c.do(context.Background(), func() {
		if model != nil {
			c.stats.add(model.Info(), answer, c.cfg.Now())
		}
		if text == "" || c.dir.Meta().Description().Title != "" { // somebody was faster
			return
		}
		if err := c.dir.Touch(c.cfg.Now(), c.cfg.Secrets.Mask(text)); err != nil {
			c.cfg.Log.Warn("save title", "conversation", c.id, "err", err)
		}
	})
}

// askTitle asks a model for a title; the model is nil if it gave no answer. A profile
// for titles that cannot be used is replaced by that of the conversation.
func (c *Conversation) askTitle(profile, message string) (llm.Response, llm.Model) {
	ctx, cancel := context.WithTimeout(context.Background(), titleTime)
	defer cancel()
	c.workers.Go(func() {
		select {
		case <-c.gone:
			cancel()
		case <-ctx.Done():
		}
	})
	model, err := c.cfg.Models.Model(ctx, Choice{Profile: cmp.Or(c.cfg.TitleProfile, profile), Usage: titleUsage})
	if err != nil && c.cfg.TitleProfile != "" {
		c.cfg.Log.Warn("the profile for titles cannot be used", "conversation", c.id, "profile", c.cfg.TitleProfile, "err", err)
		model, err = c.cfg.Models.Model(ctx, Choice{Profile: profile, Usage: titleUsage})
	}
	var answer llm.Response
	if err == nil {
		answer, err = call(ctx, model, llm.Request{Messages: []event.LLMMessage{title.Request(message)}, CacheKey: c.id}, nil)
	}
	if err != nil {
		c.cfg.Log.Info("no title from the model", "conversation", c.id, "err", err)
		return llm.Response{}, nil
	}
	return answer, model
}
