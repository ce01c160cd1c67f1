// Package view is what the model sees of a conversation: the events of the
// active branch after condensations, and the history that is made of them.
//
// The log may hold anything: a run can be killed between a call and its
// result, two writers can interleave, a person can speak while a tool runs. A
// provider refuses a history in which a tool call is not followed by exactly
// one result. So [View.Messages] does not replay the log; it builds batches of
// calls with their results and puts everything else around them. Whatever the
// events, the history is one that providers accept.
package view

import (
	"slices"

	"github.com/ohgw/ohgw/agentapi/event"
)

// View is the events that the model sees, in order. It grows with the log and
// is made anew only where the branch changes.
type View struct {
	events []event.Event
	wanted bool // a condensation was asked for and did not come yet
}

// New makes the view of a branch, root first.
func New(branch []event.Event) *View {
	v := &View{}
	for _, e := range branch {
		v.Append(e)
	}
	return v
}

// Append adds the next event of the branch.
func (v *View) Append(e event.Event) {
	switch b := e.Body.(type) {
	case *event.Condensation:
		v.condense(e, b)
	case *event.CondensationRequest:
		v.wanted = true
	case *event.SystemPrompt, *event.Message, *event.Action, *event.Observation,
		*event.AgentError, *event.UserReject, *event.CondensationSummary:
		v.events = append(v.events, e)
	}
}

// Len is the size of the view in events, as the condenser counts.
func (v *View) Len() int { return len(v.events) }

// Events are the events of the view. The caller must not change them.
func (v *View) Events() []event.Event { return v.events }

// CondensationWanted tells whether a request for a condensation is open.
func (v *View) CondensationWanted() bool { return v.wanted }

// condense applies a condensation: its events go, its summary comes, and what
// the cut has left incomplete goes too.
func (v *View) condense(e event.Event, c *event.Condensation) {
	v.wanted = false
	gone := make(map[string]bool, len(c.ForgottenEventIDs))
	for _, id := range c.ForgottenEventIDs {
		gone[id] = true
	}
	v.events = whole(v.events, gone)
	if c.Summary == nil || c.SummaryOffset == nil {
		return
	}
	at := min(max(0, *c.SummaryOffset), len(v.events))
	summary := event.New(e.ID+"-summary", e.Timestamp, event.SourceEnvironment, "", &event.CondensationSummary{Summary: *c.Summary})
	v.events = slices.Insert(v.events, at, summary)
}

// whole is events without those that are gone and without what must not be
// seen in part: the actions of one answer of the model, and an answer with
// thinking blocks together with all calls that follow it.
func whole(events []event.Event, gone map[string]bool) []event.Event {
	units := unitsOf(events)
	torn := make(map[int]bool)
	for i, e := range events {
		if gone[e.ID] && units[i] != 0 {
			torn[units[i]] = true
		}
	}
	calls := make(map[string]bool) // that go with their unit
	for i, e := range events {
		if a, ok := e.Body.(*event.Action); ok && (torn[units[i]] || gone[e.ID]) {
			calls[a.ToolCallID] = true
		}
	}
	kept := make([]event.Event, 0, len(events))
	for i, e := range events {
		if id, ok := resultOf(e); ok && calls[id] {
			continue
		}
		if gone[e.ID] || torn[units[i]] {
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// unitsOf numbers the events that stand and fall together, from 1; 0 is for
// the others.
func unitsOf(events []event.Event) []int {
	units := make([]int, len(events))
	byAnswer := make(map[string]int)
	loop, next := 0, 1 // loop: the tool loop with thinking that goes on; 0: none
	for i, e := range events {
		a, isAction := e.Body.(*event.Action)
		_, isResult := resultOf(e)
		switch {
		case isAction:
			unit, known := byAnswer[a.LLMResponseID]
			if !known {
				if unit = loop; unit == 0 {
					unit = next
					next++
				}
				byAnswer[a.LLMResponseID] = unit
			}
			if len(a.ThinkingBlocks) > 0 {
				loop = unit
			}
			units[i] = unit
		case isResult:
		default:
			loop = 0
		}
	}
	return units
}

// resultOf is the id of the tool call that e is the result of.
func resultOf(e event.Event) (callID string, ok bool) {
	switch b := e.Body.(type) {
	case *event.Observation:
		return b.ToolCallID, true
	case *event.AgentError:
		return b.ToolCallID, true
	case *event.UserReject:
		return b.ToolCallID, true
	}
	return "", false
}

// Cuts are the positions at which the view may be cut: nothing that belongs
// together lies on both sides. Position i is before event i; 0 and Len are
// always among them.
func (v *View) Cuts() []int {
	last := make(map[any]int) // the last event of each unit and each call
	units := unitsOf(v.events)
	keys := func(i int) []any {
		var ks []any
		if units[i] != 0 {
			ks = append(ks, units[i])
		}
		switch b := v.events[i].Body.(type) {
		case *event.Action:
			ks = append(ks, b.ToolCallID)
		default:
			if id, ok := resultOf(v.events[i]); ok {
				ks = append(ks, id)
			}
		}
		return ks
	}
	for i := range v.events {
		for _, k := range keys(i) {
			last[k] = i
		}
	}
	cuts := []int{0}
	open := -1 // everything up to here belongs to something that began before
	for i := range v.events {
		for _, k := range keys(i) {
			open = max(open, last[k])
		}
		if open <= i {
			cuts = append(cuts, i+1)
		}
	}
	return cuts
}
