package conversation

import (
	"context"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
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
	cut, ok := c.agent.plan(need, r)
	if ok {
		done, err := c.summarize(ctx, cut, condenser.Preview, r)
		if done || c.stopping || errors.Is(err, errStorage) {
			return true, err
		}
		c.cfg.Log.Warn("no summary", "conversation", c.branch.id, "err", err)
		switch {
		case !need.Hard():
		case errors.Is(err, errUnusable), r.hard > 0 && isTooLong(err):
			return true, c.agent.leaveOut(cut, r)
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
		return true, c.agent.leaveOut(cut, r)
	case ok:
		err := c.reset(ctx, cut, r)
		if isTooLong(err) || errors.Is(err, errUnusable) {
			return true, c.agent.leaveOut(cut, r)
		}
		return true, err
	case len(cut.Gone) > 0 && r.hard > 0: // summaries that are too long themselves
		return true, c.agent.leaveOut(cut, r)
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
