package conversation

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// hookJudge asks the model of a conversation, or an agent with it, for a hook.
type hookJudge struct {
	c      *Conversation
	job    *job
	choice Choice
}

// Prompt asks the model once.
func (h hookJudge) Prompt(ctx context.Context, q hook.Question) (string, error) {
	choice := h.choice
	choice.Usage = q.Usage
	model, err := h.c.cfg.Models.Model(ctx, choice)
	if err != nil {
		return "", err
	}
	resp, err := call(ctx, model, llm.Request{
		Messages: []event.LLMMessage{message("system", texts(q.System)), message("user", texts(q.Text))},
	}, nil)
	if err != nil {
		return "", err
	}
	h.job.call(func() { h.c.stats.add(model.Info(), resp, h.c.cfg.Now()) })
	return plainText(resp.Message.Content), nil
}

// Agent has an agent of its own look.
func (h hookJudge) Agent(ctx context.Context, q hook.Question) (string, error) {
	if h.c.cfg.HookAgent == nil {
		return "", errors.New("there are no agents for hooks")
	}
	return h.c.cfg.HookAgent(ctx, h.c, q)
}
