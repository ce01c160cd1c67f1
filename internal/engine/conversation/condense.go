package conversation

import (
	"context"
	"errors"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/engine/condenser"
	"github.com/ohgw/ohgw/internal/engine/llm"
)

const (
	resetTries   = 5   // to sum up the whole view
	resetScaling = 0.8 // of what is shown of each event, with each try
	retryAfter   = 10  // events, after a summary that could not be made
)

// condenserUsage is the key of the numbers of summaries in the statistics.
const condenserUsage = "condenser"

// condense shortens the view if it is too long. It tells whether that was the
// whole step.
func (c *Conversation) condense() (bool, error) {
	set := c.cfg.Condenser
	need := set.NeedOf(c.view, c.tokens, inputLimit(c.model.Info()))
	if !need.Any() || !need.Hard() && c.view.Len() < c.condenseAt {
		return false, nil
	}
	start, end, ok := set.Plan(c.view, need)
	if ok {
		done, err := c.summarize(start, end, condenser.Preview)
		if done || c.stopping || errors.Is(err, errStorage) {
			return true, err
		}
		c.cfg.Log.Warn("no summary", "conversation", c.id, "err", err)
	}
	if !need.Hard() {
		c.condenseAt = c.view.Len() + retryAfter
		return false, nil
	}
	return true, c.reset()
}

// reset sums up everything but the system prompt.
func (c *Conversation) reset() error {
	preview := float64(condenser.Preview)
	err := errNothingToForget
	for range resetTries {
		start := 0
		if events := c.view.Events(); len(events) > 0 && events[0].Kind() == (*event.SystemPrompt)(nil).Kind() {
			start = 1
		}
		if start == c.view.Len() {
			break
		}
		var done bool
		done, err = c.summarize(start, c.view.Len(), int(preview))
		if done || c.stopping || errors.Is(err, errStorage) {
			return err
		}
		preview *= resetScaling
	}
	return err
}

var errNothingToForget error = &llm.Error{
	Code:           codeContext,
	Detail:         "The request is too long for the model, and nothing more can be left out of it; begin a new conversation, or use a model with a larger context.",
	Classification: event.Classification{Kind: "config", UserAction: "settings"},
}

// summarize replaces the events from start to end of the view by a summary of
// them.
func (c *Conversation) summarize(start, end, preview int) (done bool, err error) {
	gone := c.view.Events()[start:end]
	req := llm.Request{Messages: []event.LLMMessage{condenser.Request(gone, preview)}, CacheKey: c.id}
	choice := Choice{Profile: c.choice.Profile, Usage: condenserUsage}
	var model llm.Model
	var resp llm.Response
	broke := c.await(context.Background(), func(j *job) {
		if model, err = c.cfg.Models.Model(j.ctx, choice); err == nil {
			resp, err = call(j.ctx, model, req, nil)
		}
	})
	if broke != nil {
		return false, broke
	}
	if err != nil {
		return false, err
	}
	c.stats.add(model.Info(), resp)
	body := &event.Condensation{LLMResponseID: resp.ID, SummaryOffset: &start}
	for _, e := range gone {
		body.ForgottenEventIDs = append(body.ForgottenEventIDs, e.ID)
	}
	if text := strings.TrimSpace(event.PlainText(resp.Message.Content)); text != "" {
		body.Summary = &text
	}
	c.tokens = 0 // not known before the next answer
	if _, err := c.append(event.SourceEnvironment, body, durable); err != nil {
		return false, errors.Join(errStorage, err)
	}
	return true, nil
}

var errStorage = errors.New("store the summary")

// inputLimit is how many tokens a request may have; 0 if nobody knows.
func inputLimit(info llm.Info) int64 {
	if info.ContextWindow > 2*info.MaxOutput {
		return info.ContextWindow - info.MaxOutput
	}
	return info.ContextWindow / 2
}
