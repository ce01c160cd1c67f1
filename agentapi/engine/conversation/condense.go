package conversation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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
func (r *run) condense() (bool, error) {
	set := r.cfg.Condenser
	space := r.measure()
	if r.phase == stopping {
		return true, nil
	}
	need := set.NeedOf(r.branch.view, space.tokens, space.soft)
	if !need.Any() || !need.Hard() && r.branch.view.Len() < r.branch.condenseAt {
		return false, nil
	}
	ctx := context.Background()
	cut, ok := r.agent.plan(need, space)
	if ok {
		done, err := r.summarize(ctx, cut, condenser.Preview, space)
		if done || r.phase == stopping || errors.Is(err, errStorage) {
			return true, err
		}
		r.cfg.Log.Warn("no summary", "conversation", r.branch.id, "err", err)
		switch {
		case !need.Hard():
		case errors.Is(err, errUnusable), space.hard > 0 && isTooLong(err):
			return true, r.agent.leaveOut(cut, space)
		case space.hard > 0:
			return true, err
		}
	}
	if !need.Hard() {
		r.branch.postponeSummary()
		return false, nil
	}
	return r.condenseAll(ctx, need, space)
}

// condenseAll takes out everything but the question.
func (r *run) condenseAll(ctx context.Context, need condenser.Need, space room) (bool, error) {
	cut, ok := condenser.Everything(r.branch.view)
	switch {
	case ok && space.hard > 0:
		return true, r.agent.leaveOut(cut, space)
	case ok:
		err := r.reset(ctx, cut, space)
		if isTooLong(err) || errors.Is(err, errUnusable) {
			return true, r.agent.leaveOut(cut, space)
		}
		return true, err
	case len(cut.Gone) > 0 && space.hard > 0: // summaries that are too long themselves
		return true, r.agent.leaveOut(cut, space)
	case !need.Wanted && space.hard > 0 && space.tokens <= space.hard:
		return false, nil // little room for an answer is better than none
	}
	return true, errTooLong(space.tokens, space.window)
}

// reset replaces what a cut takes out, and shows less of it to the model where
// that fails.
func (r *run) reset(ctx context.Context, cut condenser.Cut, space room) (err error) {
	preview := float64(condenser.Preview)
	for range resetTries {
		var done bool
		done, err = r.summarize(ctx, cut, int(preview), space)
		if done || r.phase == stopping || errors.Is(err, errStorage) || errors.Is(err, errUnusable) {
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

// errTooLong returns the error for a request that cannot be shortened any more. A number
// that is not known is zero.
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
func (r *run) summarize(ctx context.Context, cut condenser.Cut, preview int, space room) (done bool, err error) {
	req, err := r.agent.summaryRequest(cut, preview, space)
	if err != nil {
		return false, err
	}
	limited, cancel := context.WithTimeout(ctx, space.summaryTime())
	defer cancel()
	choice := Choice{Profile: r.agent.choice.Profile, Usage: condenserUsage}
	var model llm.Model
	var resp llm.Response
	broke := r.await(limited, func(j *job) {
		if model, err = r.cfg.Models.Model(j.ctx, choice); err == nil {
			resp, err = call(j.ctx, model, req, r.announcing(j, nil))
		}
	})
	if broke == nil && err != nil {
		r.branch.spent(model, &resp, err)
	}
	late := limited.Err() != nil && ctx.Err() == nil && r.phase != stopping
	switch {
	case late && (broke != nil || err != nil):
		return false, fmt.Errorf("%w: it took longer than %v", errUnusable, space.summaryTime())
	case broke != nil:
		return false, broke
	case err != nil:
		return false, err
	}
	r.branch.received(model, &resp)
	replaced := 0
	for _, i := range cut.Gone {
		replaced += r.branch.view.Weight(i).Bytes
	}
	text := strings.TrimSpace(event.PlainText(resp.Message.Content))
	if flaw := condenser.Flaw(text, replaced); flaw != "" {
		return false, fmt.Errorf("%w: %s", errUnusable, flaw)
	}
	if err := r.branch.forgetEvents(cut, &text, resp.ID); err != nil {
		return false, err
	}
	return true, nil
}

// summaryRequest asks for a summary that fits, in a request that fits. It shows less of
// each event where that is needed.
func (a *agent) summaryRequest(cut condenser.Cut, preview int, r room) (llm.Request, error) {
	limit, ok := r.summaryLimit()
	if !ok || !condenser.Tells(a.branch.view, cut) {
		return llm.Request{}, fmt.Errorf("%w: there is no room or no need for one", errUnusable)
	}
	brief := r.hard > 0 && r.window <= smallContext
	const least = 40 // characters of an event that say what it was
	for {
		messages := condenser.Request(a.branch.view, cut, preview, brief)
		var w view.Weight
		for _, m := range messages {
			w.Bytes += len(event.PlainText(m.Content))
		}
		if r.hard == 0 || a.scaled(w.Tokens(0))+limit+int64(len(messages))*perMessage < r.hard {
			return llm.Request{Messages: messages, CacheKey: a.branch.id, MaxOutput: limit}, nil
		}
		if preview = int(float64(preview) * resetScaling); preview < least {
			return llm.Request{}, fmt.Errorf("%w: what it is to replace does not fit into the context", errUnusable)
		}
	}
}

// leaveOut takes events out of the view without a summary, with a line in their place
// if there is room for that.
func (a *agent) leaveOut(cut condenser.Cut, r room) error {
	line := condenser.LeftOut
	text := &line
	fits := r.hard == 0 || r.fixed+a.scaled(view.Weight{Bytes: 2 * len(line)}.Tokens(0)) < r.hard // with its header
	if !fits || !condenser.Tells(a.branch.view, cut) {
		text = nil
	}
	return a.branch.forgetEvents(cut, text, a.cfg.NewID())
}

// forgetEvents stores that events leave the view.
func (b *branch) forgetEvents(cut condenser.Cut, summary *string, responseID string) error {
	body := &event.Condensation{LLMResponseID: responseID, SummaryOffset: &cut.Offset, Summary: summary}
	for _, i := range cut.Gone {
		body.ForgottenEventIDs = append(body.ForgottenEventIDs, b.view.Event(i).ID)
	}
	b.tokens = 0 // not known before the next answer
	if _, err := b.append(event.SourceEnvironment, body, durable); err != nil {
		return errors.Join(errStorage, err)
	}
	return nil
}

var errStorage = errors.New("store the summary")

// What a summary may take.
const (
	summaryPart  = 3  // of the room for the history
	summaryLeast = 64 // tokens; a shorter one says nothing
	windowPart   = 8  // of the context, whatever room there is
	perToken     = 30 * time.Millisecond
	leastTime    = time.Minute
	mostTime     = 10 * time.Minute
)

// summaryLimit is how many tokens a summary may have; 0: as many as the model writes.
// It is false where there is no room for one.
func (r room) summaryLimit() (tokens int64, ok bool) {
	if r.window == 0 {
		return 0, true
	}
	tokens = r.window / windowPart
	if r.hard > 0 {
		tokens = min(tokens, (r.soft-r.fixed)/summaryPart)
	}
	return tokens, tokens >= summaryLeast
}

// summaryTime is how long a summary may take: a model without a graphics card reads its
// context in minutes.
func (r room) summaryTime() time.Duration {
	if r.window == 0 {
		return mostTime
	}
	return min(mostTime, max(leastTime, time.Duration(r.window)*perToken))
}
