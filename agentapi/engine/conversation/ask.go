package conversation

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
)

// askUsage is the key of the numbers of questions in the statistics.
const askUsage = "ask-agent-llm"

//go:embed ask.md
var askText string

// Ask asks the model a question about what has happened so far. Neither the
// question nor the answer is part of the conversation. A run may go on meanwhile.
func (c *Conversation) Ask(ctx context.Context, question string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.door.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	var req llm.Request
	var choice Choice
	err := c.whenReady(ctx, func() {
		choice = Choice{Profile: c.agent.choice.Profile, Usage: askUsage}
		req = llm.Request{Messages: c.agent.history(), Tools: c.agent.offers(), CacheKey: c.branch.id}
	})
	if err != nil {
		return "", c.door.unlessEnded(err)
	}
	text := strings.ReplaceAll(askText, "{{question}}", c.cfg.Secrets.Mask(question))
	req.Messages = append(req.Messages, message("user", texts(text)))
	model, err := c.cfg.Models.Model(ctx, choice)
	if err != nil {
		return "", c.door.unlessEnded(err)
	}
	resp, err := call(ctx, model, req, nil)
	counted := c.door.try(context.WithoutCancel(ctx), func() error {
		c.branch.spent(model, &resp, err)
		return c.branch.save(lazily)
	})
	if counted != nil {
		c.cfg.Log.Warn("count a question", "conversation", c.branch.id, "err", counted)
	}
	if err != nil {
		return "", c.askError(ctx, err)
	}
	answer := strings.TrimSpace(plainText(resp.Message.Content))
	if answer == "" {
		return "", &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The model answered the question with no text; ask in other words."}
	}
	return c.cfg.Secrets.Mask(answer), nil
}

func (c *Conversation) askError(ctx context.Context, err error) error {
	if c.door.over() {
		return c.door.closed()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	why := "the LLM cannot be used"
	if e, ok := errors.AsType[*llm.Error](err); ok {
		why = e.Detail
	}
	return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The question was not answered: " + why, Err: err, InProcess: true}
}

// whenReady has the conversation's goroutine run f when there are tools and a
// model: at once during a run, else when they have been made.
func (c *Conversation) whenReady(ctx context.Context, f func()) error {
	done := make(chan error, 1)
	err := c.door.try(ctx, func() error {
		if c.agent.tools != nil && c.branch.model != nil {
			f()
			done <- nil
			return nil
		}
		c.door.queueErrand(func() {
			err := c.run.ready(ctx)
			if err == nil {
				f()
			}
			done <- err
		})
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-c.door.gone:
		return c.door.closed()
	case <-ctx.Done():
		return ctx.Err()
	}
}
