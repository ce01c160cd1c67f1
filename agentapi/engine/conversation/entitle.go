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

// entitle finds a title for a conversation that begins with message, beside the run: no
// caller waits for the title, and it is not an event.
func (r *run) entitle(message string) {
	choice := Choice{Profile: r.agent.choice.Profile, Usage: titleUsage}
	r.door.workers.Go(func() {
		if err := rescue.Do(func() error { r.findTitle(choice, message); return nil }); err != nil {
			r.cfg.Log.Error("no title", "conversation", r.branch.id, "err", err)
		}
	})
}

func (r *run) findTitle(choice Choice, message string) {
	ctx, cancel := context.WithTimeout(context.Background(), titleTime)
	defer cancel()
	r.door.workers.Go(func() {
		select {
		case <-r.door.gone:
			cancel()
		case <-ctx.Done():
		}
	})
	var resp llm.Response
	model, err := r.cfg.Models.Model(ctx, choice)
	if err == nil {
		resp, err = call(ctx, model, llm.Request{Messages: []event.LLMMessage{title.Request(message)}, CacheKey: r.branch.id}, nil)
	}
	if err != nil {
		r.cfg.Log.Info("no title from the model", "conversation", r.branch.id, "err", err)
	}
	text := title.Of(event.PlainText(resp.Message.Content), message)
	// Closed meanwhile: then there is nothing to write a title to.
	_ = r.door.try(context.Background(), func() error {
		r.branch.spent(model, &resp, err)
		r.branch.entitle(text)
		return nil
	})
}

// entitle gives the conversation a title, unless it has got one meanwhile.
func (b *branch) entitle(text string) {
	if b.dir.Meta().Description().Title != "" {
		return
	}
	if err := b.dir.Touch(b.cfg.Now(), b.cfg.Secrets.Mask(text)); err != nil {
		b.cfg.Log.Warn("save title", "conversation", b.id, "err", err)
	}
}
