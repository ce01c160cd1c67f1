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
