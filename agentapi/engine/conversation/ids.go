package conversation

import (
	"strconv"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

// ids are those of providers that the branch has: of tool calls and of answers.
// Providers repeat them. OpenHands pairs calls with results, and groups calls to
// answers, by these ids, so in a log of ours each is there once.
type ids struct {
	calls   view.IDs
	answers map[string]bool
}

func newIDs() ids { return ids{calls: make(view.IDs), answers: make(map[string]bool)} }

// remember remembers the ids of an action.
func (k ids) remember(a *event.Action) {
	k.answers[a.LLMResponseID] = true
	k.calls.Add(a.ToolCallID)
}

// makeUnique gives an answer and its calls ids of their own where the provider's are
// taken.
func (k ids) makeUnique(r *llm.Response) {
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
