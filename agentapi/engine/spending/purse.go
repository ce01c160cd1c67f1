package spending

import (
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/budget"
)

// Purse has the [Allowance] of the run of a conversation. As its [Sums], it belongs to the
// goroutine of the conversation; an allowance does not.
type Purse struct {
	took   func() budget.Amount // by the conversation's own models, since it was opened
	now    *Allowance           // of the run that goes on, or of the last one
	open   bool                 // a run goes on
	before budget.Amount        // what the conversation had taken when the run began
	next   agentapi.Meter       // of the run that begins next; may be nil
	goal   *sequel              // of the goal that is pursued; nil: there is none, or it has no meter
	ended  budget.Amount        // what the conversation had taken when the last run ended
}

// NewPurse makes the purse of a conversation before its first run; took is [Sums.Took].
func NewPurse(took func() budget.Amount) *Purse {
	return &Purse{took: took, now: NewAllowance(budget.Amount{})}
}

// Begin begins a run.
func (p *Purse) Begin(limit budget.Amount) {
	p.now, p.open, p.before = NewAllowance(limit), true, p.took()
	switch {
	case p.next != nil:
		p.now.Share(p.next)
	case p.goal != nil:
		p.goal.goOn(p.took().Minus(p.ended))
		p.now.Share(p.goal)
	}
	p.next = nil
}

// End ends the run: what its last step took counts for its meters, too.
func (p *Purse) End() {
	_ = p.Reached()
	p.open, p.ended = false, p.took()
}

// LimitBy has a meter limit the run that goes on, or the next one. Nil limits nothing.
func (p *Purse) LimitBy(m agentapi.Meter) {
	p.goal = nil
	switch {
	case m == nil:
	case p.open:
		p.now.Own(p.took().Minus(p.before))
		p.now.Share(m)
	default:
		p.next = m
	}
}

// LimitGoalBy has a meter limit the first run of a goal, as LimitBy does, and those that
// follow. The meter learns what the judge takes between them, too, until EndGoal.
func (p *Purse) LimitGoalBy(m agentapi.Meter) {
	if m == nil {
		p.LimitBy(nil)
		return
	}
	s := &sequel{meter: m}
	p.LimitBy(s)
	p.goal = s
}

// UsedUp returns why the goal may take nothing more, between two runs; "" if it may.
func (p *Purse) UsedUp() string {
	if p.goal == nil {
		return ""
	}
	return p.goal.again()
}

// EndGoal ends what LimitGoalBy began. The judge's last call counts, too.
func (p *Purse) EndGoal() {
	if p.goal != nil && !p.open {
		p.goal.goOn(p.took().Minus(p.ended))
		_ = p.goal.Took(0, 0)
	}
	p.goal = nil
}

// sequel is a meter for several runs: it adds what was taken before the last one.
type sequel struct {
	meter agentapi.Meter

	mu           sync.Mutex
	before, last budget.Amount
}

// goOn begins another run; more was taken since the end of the one before.
func (s *sequel) goOn(more budget.Amount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.last = s.before.Plus(s.last).Plus(more), budget.Amount{}
}

// again asks the meter once more.
func (s *sequel) again() string {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	return s.Took(last.Cost, last.Tokens)
}

// Took implements [agentapi.Meter].
func (s *sequel) Took(cost float64, tokens int64) string {
	s.mu.Lock()
	s.last = budget.Amount{Cost: cost, Tokens: tokens}
	sum := s.before.Plus(s.last)
	s.mu.Unlock()
	return s.meter.Took(sum.Cost, sum.Tokens)
}

// Reached returns why the run has to end, as a sentence; "" if it may go on.
func (p *Purse) Reached() string {
	p.now.Own(p.took().Minus(p.before))
	return p.now.Reached()
}

// OfTask returns the meter for one run of a sub-agent: see [Allowance.OfTask].
func (p *Purse) OfTask() agentapi.Meter {
	p.now.Own(p.took().Minus(p.before))
	return p.now.OfTask()
}
