// Package view is what the model sees of a conversation: the events of the
// active branch after condensations, and the history that is made of them.
//
// The log may hold anything: a run can be killed between a call and its
// result, two writers can interleave, a person can speak while a tool runs,
// ids of calls and answers can repeat. A provider refuses a history in which a
// tool call is not followed by exactly one result. So [View.Messages] does not
// replay the log; it builds batches of calls with their results and puts
// everything else around them. Whatever the events, the history is one that
// providers accept.
//
// A view keeps of each event what the model is shown and nothing else, in the
// form in which it is shown: a request costs what is sent, not what was stored.
package view

import (
	"encoding/json"
	"slices"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Render turns a stored observation into what the model is shown. Nil content
// stands for an observation that cannot be read.
type Render func(observation json.RawMessage) (content []event.Content, isError bool)

// View is the events that the model sees, in order. It grows with the log and
// is made again only where the branch changes.
type View struct {
	render Render
	items  []item
	wanted bool // a condensation was asked for and did not come yet
	hidden map[string]bool
	memory int64
}

// item is an event of the view.
type item struct {
	event   event.Event     // without what no model is shown
	content []event.Content // of a message or a result, as the model is shown it
	refused bool            // an action that was never to be executed
	weight  Weight
}

// New makes the view of a branch, root first. Without render the model is
// shown the content of each observation.
func New(render Render, branch []event.Event) *View {
	if render == nil {
		render = contentOf
	}
	v := &View{render: render}
	for _, e := range branch {
		v.Append(e)
	}
	return v
}

// Append adds the next event of the branch, and gives the weight that it adds
// to the next request.
func (v *View) Append(e event.Event) Weight {
	switch b := e.Body.(type) {
	case *event.Condensation:
		v.condense(e, b)
	case *event.CondensationRequest:
		v.wanted = true
	default:
		if it, ok := v.shown(e); ok {
			v.items = append(v.items, it)
			v.memory += it.memory()
			return it.weight
		}
	}
	return Weight{}
}

// Replace puts an event in the place of the one at i, which had the same kind.
func (v *View) Replace(i int, e event.Event) {
	if it, ok := v.shown(e); ok {
		v.items[i] = it
		v.count()
	}
}

// Len is the size of the view in events, as the condenser counts.
func (v *View) Len() int { return len(v.items) }

// Event is the event at i. It has what the model is shown: the arguments of a
// call as the model wrote them, no stored action or observation.
func (v *View) Event(i int) event.Event { return v.items[i].event }

// Content is what the model is shown of the message or the result at i; nil for
// everything else. The caller must not change it.
func (v *View) Content(i int) []event.Content { return v.items[i].without(v.hidden) }

// Weight is what the event at i takes in a request.
func (v *View) Weight(i int) Weight {
	w := v.items[i].weight
	if v.hidden[v.items[i].event.ID] {
		w.Images = 0
	}
	return w
}

// CondensationWanted reports whether a request for a condensation is open.
func (v *View) CondensationWanted() bool { return v.wanted }

// Asked is the range of the user's newest message, and of those right before
// it: what the agent is asked now. It is empty without any.
func (v *View) Asked() (from, to int) {
	asked := func(i int) bool {
		_, message := v.items[i].event.Body.(*event.Message)
		return message && v.items[i].event.Source == event.SourceUser
	}
	for to = len(v.items); to > 0 && !asked(to-1); {
		to--
	}
	for from = to; from > 0 && asked(from-1); {
		from--
	}
	return from, to
}

// condense applies a condensation: its events go, its summary comes, and what
// the cut has left incomplete goes too.
func (v *View) condense(e event.Event, c *event.Condensation) {
	v.wanted = false
	gone := make(map[string]bool, len(c.ForgottenEventIDs))
	for _, id := range c.ForgottenEventIDs {
		gone[id] = true
	}
	v.items = whole(v.items, gone)
	defer v.count()
	if c.Summary == nil || c.SummaryOffset == nil {
		return
	}
	at := min(max(0, *c.SummaryOffset), len(v.items))
	summary, _ := v.shown(event.New(e.ID+"-summary", e.Timestamp, event.SourceEnvironment, "", &event.CondensationSummary{Summary: *c.Summary}))
	v.items = slices.Insert(v.items, at, summary)
}

// Memory is how many bytes the view keeps, about.
func (v *View) Memory() int64 { return v.memory }

func (v *View) count() {
	v.memory = 0
	for _, it := range v.items {
		v.memory += it.memory()
	}
}

// whole returns items without those that are gone and without what must not be seen
// in part: the actions of one unit, and results without their calls.
func whole(items []item, gone map[string]bool) []item {
	l := linksOf(items)
	torn := make(map[int]bool)
	for i, it := range items {
		if gone[it.event.ID] && l.unit[i] != 0 {
			torn[l.unit[i]] = true
		}
	}
	lost := make([]bool, len(items))
	kept := make([]item, 0, len(items))
	for i, it := range items {
		call := l.call[i]
		lost[i] = gone[it.event.ID] || torn[l.unit[i]] || call >= 0 && lost[call]
		if !lost[i] {
			kept = append(kept, it)
		}
	}
	return kept
}

// Cuts returns the positions at which the view may be cut: nothing that belongs
// together lies on both sides. Position i is before event i; 0 and Len are always
// among them.
func (v *View) Cuts() []int {
	l := linksOf(v.items)
	last := make(map[int]int) // the last event of each unit
	for i, unit := range l.unit {
		last[unit] = max(i, l.result[i], last[unit])
	}
	cuts := []int{0}
	open := 0 // everything up to here belongs to something that began before
	for i, unit := range l.unit {
		if unit != 0 {
			open = max(open, last[unit])
		}
		if open <= i {
			cuts = append(cuts, i+1)
		}
	}
	return cuts
}
