package view

import (
	"slices"

	"github.com/ohgw/ohgw/agentapi/event"
)

// links say what belongs together in a view, by index. They go by the
// neighbourhood of events, not by the ids of providers, which may repeat.
type links struct {
	answer []int // of an action: the number of its answer of the model, from 1
	unit   []int // of an action: the number of what stands and falls with it, from 1
	call   []int // of a result: the index of its action; -1 without one
	result []int // of an action: the index of its result; -1 without one
}

func linksOf(items []item) links {
	w := linker{
		links: links{
			answer: make([]int, len(items)), unit: make([]int, len(items)),
			call: make([]int, len(items)), result: make([]int, len(items)),
		},
		items: items, byID: make(map[string]int), open: make(map[string][]int),
	}
	for i := range items {
		w.call[i], w.result[i] = -1, -1
		w.link(i)
	}
	return w.links
}

// linker makes links, event by event.
type linker struct {
	links
	items []item

	byID map[string]int   // actions by the id of their event
	open map[string][]int // actions without a result yet, by the id of the call

	answers, units int
	current        *event.Action // of the answer that may go on; nil: none
	loop           bool          // the last unit is a tool loop with thinking that goes on
}

func (w *linker) link(i int) {
	e := w.items[i].event
	if a, ok := e.Body.(*event.Action); ok {
		w.action(i, a)
		return
	}
	callID, actionID, ok := resultOf(e)
	if !ok {
		w.current, w.loop = nil, false
		return
	}
	at := w.find(callID, actionID)
	if at >= 0 {
		w.call[i], w.result[at] = at, i
		w.close(at)
	}
	// The error of a call that was refused is logged between the calls of its
	// answer. Every other result comes after all of them.
	if at < 0 || !w.items[at].refused {
		w.current = nil
	}
}

// action adds an action to the answer of the actions right before it, or begins
// another one. An answer with thinking begins a unit; what follows it without
// any must not be seen without it.
func (w *linker) action(i int, a *event.Action) {
	if w.current == nil || w.current.LLMResponseID != a.LLMResponseID {
		w.answers++
		if !w.loop || len(a.ThinkingBlocks) > 0 {
			w.units++
		}
	}
	w.loop = w.loop || len(a.ThinkingBlocks) > 0
	w.current = a
	w.answer[i], w.unit[i] = w.answers, w.units
	w.byID[w.items[i].event.ID] = i
	w.open[a.ToolCallID] = append(w.open[a.ToolCallID], i)
}

// find returns the action that a result belongs to: the one it names, or else the
// nearest before it with that call that has none yet. Of several in one answer the
// first is answered first. It is -1 for a result that comes too late.
func (w *linker) find(callID, actionID string) int {
	if at, ok := w.byID[actionID]; ok && actionID != "" {
		if w.result[at] >= 0 {
			return -1
		}
		return at
	}
	open := w.open[callID]
	if len(open) == 0 {
		return -1
	}
	at := open[len(open)-1]
	for k := len(open) - 2; k >= 0 && w.answer[open[k]] == w.answer[at]; k-- {
		at = open[k]
	}
	return at
}

// close takes an action from those without a result.
func (w *linker) close(at int) {
	id := w.items[at].event.Body.(*event.Action).ToolCallID
	w.open[id] = slices.DeleteFunc(w.open[id], func(i int) bool { return i == at })
}

// resultOf is what e says it is the result of; actionID may be empty.
func resultOf(e event.Event) (callID, actionID string, ok bool) {
	switch b := e.Body.(type) {
	case *event.Observation:
		return b.ToolCallID, b.ActionID, true
	case *event.AgentError:
		return b.ToolCallID, "", true
	case *event.UserReject:
		return b.ToolCallID, b.ActionID, true
	}
	return "", "", false
}
