package spending

import (
	"fmt"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/budget"
)

// Allowance is what one run may take, together with the sub-agents that work for it. Unlike
// [Sums], it may be used by several goroutines.
type Allowance struct {
	limit budget.Amount

	mu     sync.Mutex
	own    budget.Amount // by the calls of the run's own models
	tasks  budget.Amount // by sub-agents
	meters []metered
}

// metered is a meter, and what the run had taken when it was added.
type metered struct {
	agentapi.Meter

	before budget.Amount
}

// NewAllowance begins the allowance of a run.
func NewAllowance(limit budget.Amount) *Allowance { return &Allowance{limit: limit} }

// Share has a meter limit what the run takes from now on.
func (a *Allowance) Share(m agentapi.Meter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.meters = append(a.meters, metered{m, a.own.Plus(a.tasks)})
}

// Own sets what the run's own models have taken so far.
func (a *Allowance) Own(took budget.Amount) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.own = took
}

// Reached returns why the run has to end, as a sentence; "" if it may go on. All meters
// learn what the run has taken.
func (a *Allowance) Reached() (why string) {
	a.mu.Lock()
	took, meters := a.own.Plus(a.tasks), a.meters
	a.mu.Unlock()
	switch {
	case a.limit.Cost > 0 && took.Cost >= a.limit.Cost:
		why = fmt.Sprintf("The run has cost %.2f of the %.2f US dollars that its agent may spend in one run; send another message to continue.", took.Cost, a.limit.Cost)
	case a.limit.Tokens > 0 && took.Tokens >= a.limit.Tokens:
		why = fmt.Sprintf("The run has used %d of the %d tokens that its agent may use in one run; send another message to continue.", took.Tokens, a.limit.Tokens)
	}
	for _, m := range meters { // without the lock: a meter may write a file
		part := took.Minus(m.before)
		if said := m.Took(part.Cost, part.Tokens); why == "" {
			why = said
		}
	}
	return why
}

// OfTask returns the meter of one run of a sub-agent: what that takes is taken from the
// allowance, and it ends when the allowance does.
func (a *Allowance) OfTask() agentapi.Meter { return &share{of: a} }

// share is the part of one run of a sub-agent.
type share struct {
	of *Allowance

	mu   sync.Mutex
	took budget.Amount
}

// Took implements [agentapi.Meter].
func (s *share) Took(cost float64, tokens int64) string {
	s.mu.Lock()
	more := budget.Amount{Cost: cost, Tokens: tokens}.Minus(s.took)
	s.took = budget.Amount{Cost: cost, Tokens: tokens}
	s.mu.Unlock()
	s.of.mu.Lock()
	s.of.tasks = s.of.tasks.Plus(more)
	s.of.mu.Unlock()
	return s.of.Reached()
}
