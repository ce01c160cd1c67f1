// Package stuck sees when an agent goes round in circles: the same call with
// the same result, the same failing call, talk without action, or two calls in
// turn. What it compares and how often is OpenHands' rule.
package stuck

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Verdict is what there is to say about the agent.
type Verdict int

// The verdicts.
const (
	Fine  Verdict = iota
	Nudge         // tell it once that it repeats a call that fails
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

// Detect looks at the events of the active branch since the last message of the
// user. For a Nudge, cause is the id of the error that it is for.
func Detect(events []event.Event) (v Verdict, cause string) {
	if len(events) > window {
		events = events[len(events)-window:]
	}
	if len(events) < monologue {
		return Fine, ""
	}
	steps := stepsOf(events)
	if repeats(steps) || talks(events) || alternates(steps) {
		return Stuck, ""
	}
	switch n := failures(steps); {
	case n > sameError:
		return Stuck, ""
	case n == sameError:
		return Nudge, steps[len(steps)-1].result.ID
	}
	return Fine, ""
}

// step is an action with its result.
type step struct{ action, result event.Event }

// stepsOf pairs actions with their results, in the order of the actions.
func stepsOf(events []event.Event) []step {
	var steps []step
	at := make(map[string]int)
	for _, e := range events {
		switch b := e.Body.(type) {
		case *event.Action:
			at[b.ToolCallID] = len(steps)
			steps = append(steps, step{action: e})
		default:
			id, ok := resultOf(e)
			if i, known := at[id]; ok && known {
				steps[i].result = e
			}
		}
	}
	return slices.DeleteFunc(steps, func(s step) bool { return s.result.Body == nil })
}

func resultOf(e event.Event) (callID string, ok bool) {
	switch b := e.Body.(type) {
	case *event.Observation:
		return b.ToolCallID, true
	case *event.AgentError:
		return b.ToolCallID, true
	}
	return "", false
}

func repeats(steps []step) bool {
	if len(steps) < sameResult {
		return false
	}
	last := steps[len(steps)-sameResult:]
	for _, s := range last {
		if !isObservation(s.result) || !sameAction(s.action, last[0].action) || !sameOutcome(s.result, last[0].result) {
			return false
		}
	}
	return true
}

// failures counts the equal calls at the end that all failed.
func failures(steps []step) int {
	n := 0
	for i := len(steps) - 1; i >= 0; i-- {
		if isObservation(steps[i].result) || !sameAction(steps[i].action, steps[len(steps)-1].action) {
			break
		}
		n++
	}
	return n
}

// talks tells whether the agent has only talked for a while. What its
// environment says in between does not count.
func talks(events []event.Event) bool {
	n := 0
	for _, e := range slices.Backward(events) {
		switch e.Body.(type) {
		case *event.Message:
			if e.Source == event.SourceAgent {
				n++
			}
		case *event.CondensationSummary, *event.Condensation, *event.CondensationRequest:
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
		if !isObservation(last[i].result) || !isObservation(last[i+2].result) ||
			!sameAction(last[i].action, last[i+2].action) || !sameOutcome(last[i].result, last[i+2].result) {
			return false
		}
	}
	return true
}

func isObservation(e event.Event) bool {
	_, ok := e.Body.(*event.Observation)
	return ok
}

// sameAction compares what was thought and called, not when and under which id.
func sameAction(a, b event.Event) bool {
	x, y := a.Body.(*event.Action), b.Body.(*event.Action)
	return a.Source == b.Source && x.ToolName == y.ToolName && sameJSON(x.Action, y.Action) &&
		event.PlainText(x.Thought) == event.PlainText(y.Thought)
}

func sameOutcome(a, b event.Event) bool {
	x, ok := a.Body.(*event.Observation)
	y, also := b.Body.(*event.Observation)
	return ok && also && a.Source == b.Source && x.ToolName == y.ToolName && sameJSON(x.Observation, y.Observation)
}

// sameJSON compares texts that the same code wrote: equal values have equal
// texts. A call that was not understood has none, which equals another.
func sameJSON(a, b json.RawMessage) bool {
	empty := func(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }
	return empty(a) && empty(b) || bytes.Equal(a, b)
}
