// Package callids keeps the ids of answers and of tool calls apart, which providers repeat.
// OpenHands pairs calls with results, and groups calls to answers, by these ids, so in a log
// of ours each is there once.
package callids

import (
	"strconv"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Known are the ids that a log has. Its copies share them.
type Known struct {
	calls   view.IDs
	answers map[string]bool
}

// New knows no ids.
func New() Known { return Known{calls: make(view.IDs), answers: make(map[string]bool)} }

// Remember remembers the ids of an action.
func (k Known) Remember(a *event.Action) {
	k.answers[a.LLMResponseID] = true
	k.calls.Add(a.ToolCallID)
}

// Answered remembers the id of an answer.
func (k Known) Answered(id string) { k.answers[id] = true }

// MakeUnique gives an answer and its calls ids of their own where the provider's are
// taken.
func (k Known) MakeUnique(r *llm.Response) {
	id := r.ID
	for n := len(k.answers) + 1; k.answers[r.ID]; n++ {
		r.ID = id + "-" + strconv.Itoa(n)
	}
	k.answers[r.ID] = true
	for i := range r.Message.ToolCalls {
		call := &r.Message.ToolCalls[i]
		call.ID = k.calls.Take(call.ID)
	}
}
