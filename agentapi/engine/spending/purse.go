package spending

import "github.com/ohgw/ohgw/agentapi"

// Purse has the [Allowance] of the run of a conversation. As its [Sums], it belongs to the
// goroutine of the conversation; an allowance does not.
type Purse struct {
	took   func() Amount  // by the conversation's own models, since it was opened
	now    *Allowance     // of the run that goes on, or of the last one
	open   bool           // a run goes on
	before Amount         // what the conversation had taken when the run began
	next   agentapi.Meter // of the run that begins next; may be nil
}

// NewPurse makes the purse of a conversation before its first run; took is [Sums.Took].
func NewPurse(took func() Amount) *Purse { return &Purse{took: took, now: NewAllowance(Amount{})} }

// Begin begins a run.
func (p *Purse) Begin(limit Amount) {
	p.now, p.open, p.before = NewAllowance(limit), true, p.took()
	if p.next != nil {
		p.now.Share(p.next)
	}
	p.next = nil
}

// End ends the run: what its last step took counts for its meters, too.
func (p *Purse) End() {
	_ = p.Reached()
	p.open = false
}

// LimitBy has a meter limit the run that goes on, or the next one. Nil limits nothing.
func (p *Purse) LimitBy(m agentapi.Meter) {
	switch {
	case m == nil:
	case p.open:
		p.now.Own(p.took().Minus(p.before))
		p.now.Share(m)
	default:
		p.next = m
	}
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
