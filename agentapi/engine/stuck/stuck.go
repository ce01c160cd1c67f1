// Package stuck sees when an agent goes round in circles: the same call with
// the same result, the same failing call, talk without action, two calls in
// turn, or nothing but calls that it has made before. But for the last, what it
// compares and how often is OpenHands' rule.
package stuck

import (
	"slices"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Verdict is what there is to say about the agent.
type Verdict int

// The verdicts.
const (
	Fine   Verdict = iota
	Nudge          // tell it once that it repeats a call that fails
	Repeat         // tell it once that it makes no call that is new
	Stuck
)

// How often something is repeated before it counts.
const (
	sameResult  = 4 // call and result
	sameError   = 3 // call that fails: a nudge; more: stuck
	monologue   = 3 // messages of the agent
	alternating = 6 // calls that take turns
	window      = 20
)

// How many calls in a row may be ones that the run has made before, whatever
// their results: an agent that waits for something asks again and again.
const (
	repeatsNudge = 50
	repeatsStuck = 100
)

// Trace is what an agent has done since the last message of the user. It keeps
// digests, not events. The zero Trace is empty.
type Trace struct {
	marks    []mark // the last ones, at most window
	calls    map[digest]bool
	repeated int    // calls since the last one that was new
	cause    string // the action with which that became too much
}

// Reset forgets everything: the user has spoken.
func (t *Trace) Reset() { *t = Trace{} }

// Add adds the next event of the active branch.
func (t *Trace) Add(e event.Event) {
	if len(t.marks) == window {
		t.marks = slices.Delete(t.marks, 0, 1)
	}
	m := markOf(e)
	t.marks = append(t.marks, m)
	if m.kind == action {
		t.count(m)
	}
}

// count counts calls that are not new.
func (t *Trace) count(m mark) {
	if !t.calls[m.call] {
		if t.calls == nil {
			t.calls = make(map[digest]bool)
		}
		t.calls[m.call] = true
		t.repeated = 0
		return
	}
	if t.repeated++; t.repeated == repeatsNudge {
		t.cause = m.id
	}
}

// Verdict says how the agent does. For a Nudge or a Repeat, cause is the id of
// the event that it is for.
func (t *Trace) Verdict() (v Verdict, cause string) {
	if len(t.marks) < monologue {
		return Fine, ""
	}
	steps := t.steps()
	if repeats(steps) || t.talks() || alternates(steps) || t.repeated >= repeatsStuck {
		return Stuck, ""
	}
	switch n := failures(steps); {
	case n > sameError:
		return Stuck, ""
	case n == sameError:
		return Nudge, steps[len(steps)-1].result.id
	}
	if t.repeated >= repeatsNudge {
		return Repeat, t.cause
	}
	return Fine, ""
}

// step is an action with its result.
type step struct{ action, result mark }

// steps pairs actions with their results, in the order of the actions.
func (t *Trace) steps() []step {
	var steps []step
	for _, m := range t.marks {
		switch m.kind {
		case action:
			steps = append(steps, step{action: m})
		case observation, failure:
			if i := slices.IndexFunc(steps, func(s step) bool { return s.result.kind == 0 && m.answers(s.action) }); i >= 0 {
				steps[i].result = m
			}
		}
	}
	return slices.DeleteFunc(steps, func(s step) bool { return s.result.kind == 0 })
}

func repeats(steps []step) bool {
	if len(steps) < sameResult {
		return false
	}
	last := steps[len(steps)-sameResult:]
	return !slices.ContainsFunc(last, func(s step) bool { return !same(s, last[0]) })
}

// same reports whether two steps are the same call with the same result.
func same(a, b step) bool {
	return a.result.kind == observation && b.result.kind == observation && a.action.what == b.action.what && a.result.what == b.result.what
}

// failures counts the equal calls at the end that all failed.
func failures(steps []step) int {
	n := 0
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].result.kind == observation || steps[i].action.what != steps[len(steps)-1].action.what {
			break
		}
		n++
	}
	return n
}

// talks reports whether the agent has only talked for a while. What its
// environment says in between does not count.
func (t *Trace) talks() bool {
	n := 0
	for _, m := range slices.Backward(t.marks) {
		switch m.kind {
		case speech:
			n++
		case aside:
		default:
			return n >= monologue
		}
	}
	return n >= monologue
}

func alternates(steps []step) bool {
	if len(steps) < alternating {
		return false
	}
	last := steps[len(steps)-alternating:]
	for i := range alternating - 2 {
		if !same(last[i], last[i+2]) {
			return false
		}
	}
	return true
}
