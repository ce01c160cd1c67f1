package conversation

import (
	"context"
	"errors"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

const (
	resetTries   = 5   // to sum up the whole view
	resetScaling = 0.8 // of what is shown of each event, with each try
	retryAfter   = 10  // events, after a summary that could not be made
)

// condenserUsage is the key of the numbers of summaries in the statistics.
const condenserUsage = "condenser"

// condense shortens the view if it is too long. It reports whether that was the
// whole step.
func (c *Conversation) condense() (bool, error) {
	set := c.cfg.Condenser
	need := set.NeedOf(c.view, c.tokens, inputLimit(c.model.Info()))
	if !need.Any() || !need.Hard() && c.view.Len() < c.condenseAt {
		return false, nil
	}
	ctx := context.Background()
	if cut, ok := set.Plan(c.view, need, c.perImage()); ok {
		done, err := c.summarize(ctx, cut, condenser.Preview)
		if done || c.stopping || errors.Is(err, errStorage) {
			return true, err
		}
		c.cfg.Log.Warn("no summary", "conversation", c.id, "err", err)
	}
	if !need.Hard() {
		c.condenseAt = c.view.Len() + retryAfter
		return false, nil
	}
	cut, ok := condenser.Everything(c.view)
	if !ok {
		return true, errNothingToForget
	}
	return true, c.reset(ctx, cut)
}

// reset replaces what a cut takes out, and shows less of it to the model where
// that fails.
func (c *Conversation) reset(ctx context.Context, cut condenser.Cut) (err error) {
	preview := float64(condenser.Preview)
	for range resetTries {
		var done bool
		done, err = c.summarize(ctx, cut, int(preview))
		if done || c.stopping || errors.Is(err, errStorage) {
			return err
		}
		preview *= resetScaling
	}
	return err
}

var errNothingToForget error = &llm.Error{
	Code:           codeContext,
	Detail:         "The request is too long for the model, and cannot be shortened further; start a new conversation, or use a model with a larger context.",
	Classification: event.Classification{Kind: "config", UserAction: "settings"},
}

// summarize replaces events of the view by a summary of them.
func (c *Conversation) summarize(ctx context.Context, cut condenser.Cut, preview int) (done bool, err error) {
	req := llm.Request{Messages: []event.LLMMessage{condenser.Request(c.view, cut, preview)}, CacheKey: c.id}
	choice := Choice{Profile: c.choice.Profile, Usage: condenserUsage}
	var model llm.Model
	var resp llm.Response
	broke := c.await(ctx, func(j *job) {
		if model, err = c.cfg.Models.Model(j.ctx, choice); err == nil {
			resp, err = call(j.ctx, model, req, c.announcing(j, nil))
		}
	})
	if broke != nil {
		return false, broke
	}
	if err != nil {
		return false, err
	}
	c.stats.add(model.Info(), resp, c.cfg.Now())
	c.known.makeUnique(&resp)
	body := &event.Condensation{LLMResponseID: resp.ID, SummaryOffset: &cut.Offset}
	for _, i := range cut.Gone {
		body.ForgottenEventIDs = append(body.ForgottenEventIDs, c.view.Event(i).ID)
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

// unknownImage is what an image counts, in tokens, for a model of which nobody
// knows.
const unknownImage = 2000

// perImage is what an image counts for the model that answers, in tokens.
func (c *Conversation) perImage() int64 {
	if c.model == nil {
		return unknownImage
	}
	info := c.model.Info()
	if info.Vision && info.ImageTokens == 0 {
		return unknownImage
	}
	return info.ImageTokens
}

// estimate is the size of a request whose provider counts no tokens.
func (c *Conversation) estimate(req llm.Request) int64 {
	var w view.Weight
	for i := range c.view.Len() {
		w.Bytes += c.view.Weight(i).Bytes
		w.Images += c.view.Weight(i).Images
	}
	for _, t := range req.Tools {
		w.Bytes += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return w.Tokens(c.perImage())
}

// inputLimit is how many tokens a request may have; 0 if nobody knows.
func inputLimit(info llm.Info) int64 {
	if info.ContextWindow > 2*info.MaxOutput {
		return info.ContextWindow - info.MaxOutput
	}
	return info.ContextWindow / 2
}
