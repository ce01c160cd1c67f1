package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Recent is what the last n messages with a text say, those of people and of agents, as
// OpenHands tells another model of them. What tools did is not part of it.
func (c *Conversation) Recent(ctx context.Context, n int) (string, error) {
	var messages []string
	err := c.door.try(ctx, func() error {
		for i := c.branch.dir.Len() - 1; i >= 0 && len(messages) < n; i-- {
			e, _, _, err := c.branch.dir.From(i).Next()
			if err != nil {
				return c.branch.storageError(err)
			}
			m, ok := e.Body.(*event.Message)
			if !ok {
				continue
			}
			if text := strings.TrimSpace(spelled(m.LLMMessage.Content)); text != "" {
				messages = append(messages, string(e.Source)+": "+text)
			}
		}
		return nil
	})
	slices.Reverse(messages)
	return c.cfg.Secrets.Mask(strings.Join(messages, "\n")), err
}

// spelled is a message's content as text, in which pictures are only told of.
func spelled(content []event.Content) string {
	var lines []string
	for _, item := range content {
		switch {
		case len(item.ImageURLs) > 0:
			lines = append(lines, fmt.Sprintf("[Image: %d URLs]", len(item.ImageURLs)))
		case item.Text != "":
			lines = append(lines, item.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// Consult asks a model something that is not part of the conversation. Its tokens and its
// cost are the conversation's, under the key of the choice. The error is for the agent.
func (c *Conversation) Consult(ctx context.Context, choice Choice, system, user string) (string, error) {
	model, err := c.cfg.Models.Model(ctx, choice)
	if err != nil {
		return "", err
	}
	req := llm.Request{Messages: []event.LLMMessage{message("system", texts(system)), message("user", texts(user))}, CacheKey: c.branch.id}
	resp, err := call(ctx, model, req, nil)
	if err != nil {
		return "", consultError(ctx, err)
	}
	err = c.door.try(ctx, func() error { c.branch.spent(model, resp); return nil })
	return c.cfg.Secrets.Mask(plainText(resp.Message.Content)), err
}

func consultError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	why := "its LLM cannot be used"
	if e, ok := errors.AsType[*llm.Error](err); ok {
		why = e.Detail
	}
	return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: why, Err: err, InProcess: true}
}
