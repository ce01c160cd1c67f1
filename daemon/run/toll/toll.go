// Package toll has the budget of one run: it learns what the run takes, and ends it when the
// budget is used up. It does not know whose the budget is, or what is left of it: its
// [agentapi.Meter] does.
package toll

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// Payer pays for one run. Its methods may be called at the same time.
type Payer interface {
	agentapi.Meter
	// Check is called when the run's turn has come. Its error ends the job, which has
	// started nothing.
	Check() error
	// Begin notes that the run is about to start, in a conversation that has used so much
	// before. Its error ends the job, which has started nothing.
	Begin(conversation string, before turn.Usage) error
	// Resume takes up a run that an earlier process began.
	Resume(conversation string)
	// End is called when the run has ended, and all that it took is known.
	End()
}

// Budget is what a run may take. Nil: there is no limit.
type Budget struct {
	Payer

	// InDollars says that money is limited. The run of a model without a known price is not
	// limited then, and its client has to know.
	InDollars bool
}

// Check asks the payer, if there is one.
func (b *Budget) Check() error {
	if b == nil {
		return nil
	}
	return b.Payer.Check()
}

// Begin asks the payer, if there is one.
func (b *Budget) Begin(conversation string, before turn.Usage) error {
	if b == nil {
		return nil
	}
	return b.Payer.Begin(conversation, before)
}

// Close pays for all that the run took. With lost, it may go on at its backend.
func (b *Budget) Close(took turn.Usage, lost bool) {
	if b == nil {
		return
	}
	_ = b.Took(took.Cost, took.PromptTokens+took.CompletionTokens)
	if !lost {
		b.End()
	}
}

// Toll is the budget of a run that goes on. One goroutine uses it.
type Toll struct {
	budget *Budget
	stop   context.CancelCauseFunc // nil: the backend ends the run itself
	note   func(line string)
	noted  bool
}

// Begin returns the toll of a run, and the context in which the run goes on. With self, the
// backend asks the meter itself. A note is a line for the client.
func Begin(ctx context.Context, b *Budget, self bool, note func(line string)) (context.Context, *Toll) {
	t := &Toll{budget: b, note: note}
	if b != nil && !self {
		ctx, t.stop = context.WithCancelCause(ctx)
	}
	return ctx, t
}

// Close lets go of the context of the run.
func (t *Toll) Close() {
	if t.stop != nil {
		t.stop(nil)
	}
}

// Meter returns the meter for a backend that asks it itself; nil without a budget.
func (t *Toll) Meter() agentapi.Meter {
	if t.budget == nil {
		return nil
	}
	return t.budget.Payer
}

// usedUp interrupts a run whose budget is used up.
type usedUp struct{ why string }

func (e *usedUp) Error() string { return e.why }

// Saw takes what the run has taken so far.
func (t *Toll) Saw(u turn.Usage) {
	if t.budget == nil {
		return
	}
	if t.budget.InDollars && u.Cost == 0 && u.PromptTokens+u.CompletionTokens > 0 && !t.noted {
		t.noted = true
		t.note("The price of this model is not known, so a budget in US dollars does not limit the run")
	}
	why := t.budget.Took(u.Cost, u.PromptTokens+u.CompletionTokens)
	if why != "" && t.stop != nil {
		t.stop(&usedUp{why})
	}
}

// Settle makes an interrupted run whose budget is used up one that has reached a limit.
// cause is that of its context.
func Settle(cause error, res *turn.Result) {
	over, ok := errors.AsType[*usedUp](cause)
	if !ok || res.Outcome != turn.Interrupted {
		return
	}
	res.Outcome, res.Cause = turn.Failed, &turn.Cause{Kind: turn.CauseAgent, Code: agentapi.CodeBudget, Detail: over.why}
}
