package conversation

import (
	"context"
	"errors"
	"fmt"
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
	r := c.measure()
	if c.stopping {
		return true, nil
	}
	need := set.NeedOf(c.branch.view, r.tokens, r.soft)
	if !need.Any() || !need.Hard() && c.branch.view.Len() < c.branch.condenseAt {
		return false, nil
	}
	ctx := context.Background()
	cut, ok := c.plan(need, r)
	if ok {
		done, err := c.summarize(ctx, cut, condenser.Preview, r)
		if done || c.stopping || errors.Is(err, errStorage) {
			return true, err
		}
		c.cfg.Log.Warn("no summary", "conversation", c.branch.id, "err", err)
		switch {
		case !need.Hard():
		case errors.Is(err, errUnusable), r.hard > 0 && isTooLong(err):
			return true, c.leaveOut(cut, r)
		case r.hard > 0:
			return true, err
		}
	}
	if !need.Hard() {
		c.branch.condenseAt = c.branch.view.Len() + retryAfter
		return false, nil
	}
	return c.condenseAll(ctx, need, r)
}

// condenseAll takes out everything but the question.
func (c *Conversation) condenseAll(ctx context.Context, need condenser.Need, r room) (bool, error) {
	cut, ok := condenser.Everything(c.branch.view)
	switch {
	case ok && r.hard > 0:
		return true, c.leaveOut(cut, r)
	case ok:
		err := c.reset(ctx, cut, r)
		if isTooLong(err) || errors.Is(err, errUnusable) {
			return true, c.leaveOut(cut, r)
		}
		return true, err
	case len(cut.Gone) > 0 && r.hard > 0: // summaries that are too long themselves
		return true, c.leaveOut(cut, r)
	case !need.Wanted && r.hard > 0 && r.tokens <= r.hard:
		return false, nil // little room for an answer is better than none
	}
	return true, errTooLong(r.tokens, r.window)
}

// reset replaces what a cut takes out, and shows less of it to the model where
// that fails.
func (c *Conversation) reset(ctx context.Context, cut condenser.Cut, r room) (err error) {
	preview := float64(condenser.Preview)
	for range resetTries {
		var done bool
		done, err = c.summarize(ctx, cut, int(preview), r)
		if done || c.stopping || errors.Is(err, errStorage) || errors.Is(err, errUnusable) {
			return err
		}
		preview *= resetScaling
	}
	return err
}

// isTooLong reports whether a request was too long for the model.
func isTooLong(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Code == codeContext
}

// errTooLong is a request that cannot be shortened any more. The numbers are zero where
// nobody knows them.
func errTooLong(tokens, window int64) error {
	numbers := ""
	if tokens > 0 && window > 0 {
		numbers = fmt.Sprintf(" of %d tokens", tokens)
	}
	model := "the model"
	if window > 0 {
		model = fmt.Sprintf("the model's context of %d tokens", window)
	}
	return &llm.Error{
		Code:           codeContext,
		Detail:         "The request" + numbers + " is too long for " + model + ", and cannot be shortened further; start a new conversation, or use a model with a larger context.",
		Classification: event.Classification{Kind: "config", UserAction: "settings"},
	}
}

// errUnusable is a summary that cannot take the place of what it is to replace.
var errUnusable = errors.New("the summary cannot be used")

// summarize replaces events of the view by a summary of them. With an error the view is
// as it was.
func (c *Conversation) summarize(ctx context.Context, cut condenser.Cut, preview int, r room) (done bool, err error) {
	req, err := c.summaryRequest(cut, preview, r)
	if err != nil {
		return false, err
	}
	limited, cancel := context.WithTimeout(ctx, r.summaryTime())
	defer cancel()
	choice := Choice{Profile: c.choice.Profile, Usage: condenserUsage}
	var model llm.Model
	var resp llm.Response
	broke := c.await(limited, func(j *job) {
		if model, err = c.cfg.Models.Model(j.ctx, choice); err == nil {
			resp, err = call(j.ctx, model, req, c.announcing(j, nil))
		}
	})
	late := limited.Err() != nil && ctx.Err() == nil && !c.stopping
	switch {
	case late && (broke != nil || err != nil):
		return false, fmt.Errorf("%w: it took longer than %v", errUnusable, r.summaryTime())
	case broke != nil:
		return false, broke
	case err != nil:
		return false, err
	}
	c.branch.stats.add(model.Info(), resp, c.cfg.Now())
	c.branch.known.makeUnique(&resp)
	replaced := 0
	for _, i := range cut.Gone {
		replaced += c.branch.view.Weight(i).Bytes
	}
	text := strings.TrimSpace(event.PlainText(resp.Message.Content))
	if flaw := condenser.Flaw(text, replaced); flaw != "" {
		return false, fmt.Errorf("%w: %s", errUnusable, flaw)
	}
	if err := c.forgetEvents(cut, &text, resp.ID); err != nil {
		return false, err
	}
	return true, nil
}

// summaryRequest asks for a summary that fits, in a request that fits. It shows less of
// each event where that is needed.
func (c *Conversation) summaryRequest(cut condenser.Cut, preview int, r room) (llm.Request, error) {
	limit, ok := r.summaryLimit()
	if !ok || !condenser.Tells(c.branch.view, cut) {
		return llm.Request{}, fmt.Errorf("%w: there is no room or no need for one", errUnusable)
	}
	brief := r.hard > 0 && r.window <= smallContext
	const least = 40 // characters of an event that say what it was
	for {
		messages := condenser.Request(c.branch.view, cut, preview, brief)
		var w view.Weight
		for _, m := range messages {
			w.Bytes += len(event.PlainText(m.Content))
		}
		if r.hard == 0 || c.scaled(w.Tokens(0))+limit+int64(len(messages))*perMessage < r.hard {
			return llm.Request{Messages: messages, CacheKey: c.branch.id, MaxOutput: limit}, nil
		}
		if preview = int(float64(preview) * resetScaling); preview < least {
			return llm.Request{}, fmt.Errorf("%w: what it is to replace does not fit into the context", errUnusable)
		}
	}
}

// leaveOut takes events out of the view without a summary, with a line in their place
// if there is room for that.
func (c *Conversation) leaveOut(cut condenser.Cut, r room) error {
	line := condenser.LeftOut
	text := &line
	fits := r.hard == 0 || r.fixed+c.scaled(view.Weight{Bytes: 2 * len(line)}.Tokens(0)) < r.hard // with its header
	if !fits || !condenser.Tells(c.branch.view, cut) {
		text = nil
	}
	return c.forgetEvents(cut, text, c.cfg.NewID())
}

// forgetEvents stores that events leave the view.
func (c *Conversation) forgetEvents(cut condenser.Cut, summary *string, responseID string) error {
	body := &event.Condensation{LLMResponseID: responseID, SummaryOffset: &cut.Offset, Summary: summary}
	for _, i := range cut.Gone {
		body.ForgottenEventIDs = append(body.ForgottenEventIDs, c.branch.view.Event(i).ID)
	}
	c.branch.tokens = 0 // not known before the next answer
	if _, err := c.branch.append(event.SourceEnvironment, body, durable); err != nil {
		return errors.Join(errStorage, err)
	}
	return nil
}

var errStorage = errors.New("store the summary")

// unknownImage is what an image counts, in tokens, for a model of which nobody
// knows.
const unknownImage = 2000

// perImage is what an image counts for the model that answers, in tokens.
func (b *branch) perImage() int64 {
	if b.model == nil {
		return unknownImage
	}
	info := b.model.Info()
	if info.Vision && info.ImageTokens == 0 {
		return unknownImage
	}
	return info.ImageTokens
}

// estimate is the size of a request whose provider counts no tokens.
func (c *Conversation) estimate(req llm.Request) int64 {
	var w view.Weight
	for i := range c.branch.view.Len() {
		w.Bytes += c.branch.view.Weight(i).Bytes
		w.Images += c.branch.view.Weight(i).Images
	}
	for _, t := range req.Tools {
		w.Bytes += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return w.Tokens(c.branch.perImage())
}

// inputLimit is how many tokens a request may have; 0 if nobody knows.
func inputLimit(info llm.Info) int64 {
	switch {
	case info.MaxOutput == 0 && info.Served:
		return info.ContextWindow - min(info.ContextWindow/answerPart, answerMost)
	case info.ContextWindow > 2*info.MaxOutput:
		return info.ContextWindow - info.MaxOutput
	}
	return info.ContextWindow / 2
}
