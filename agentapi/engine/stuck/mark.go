package stuck

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/event"
)

type digest [sha256.Size]byte

// mark is what a trace keeps of an event.
type mark struct {
	kind     kind
	id       string
	callID   string // of an action and its result
	actionID string // of a result, where it names its action
	what     digest // what was thought and called, or what came of it; not when and under which id
	call     digest // of an action: what was called
}

type kind int

// The kinds; no event has the kind 0.
const (
	action kind = iota + 1
	observation
	failure
	speech // a message of the agent
	aside  // what is said about it, or told to it
	other
)

func markOf(e event.Event) mark {
	m := mark{kind: other, id: e.ID}
	switch b := e.Body.(type) {
	case *event.Action:
		parsed := value(b.Action)
		m.kind, m.callID = action, b.ToolCallID
		m.call = sum(b.ToolName, parsed)
		m.what = sum(e.Source, b.ToolName, parsed, event.PlainText(b.Thought))
	case *event.Observation:
		m.kind, m.callID, m.actionID = observation, b.ToolCallID, b.ActionID
		m.what = sum(e.Source, b.ToolName, value(b.Observation))
	case *event.AgentError:
		m.kind, m.callID = failure, b.ToolCallID
	case *event.Message:
		if m.kind = aside; e.Source == event.SourceAgent {
			m.kind = speech
		}
	case *event.CondensationSummary, *event.Condensation, *event.CondensationRequest:
		m.kind = aside
	}
	return m
}

// answers reports whether a result is that of an action.
func (m mark) answers(a mark) bool {
	if m.actionID != "" {
		return m.actionID == a.id
	}
	return m.callID == a.callID
}

// value is JSON that the same code wrote: equal values have equal texts. A call
// that was not understood has none, which equals another.
func value(v json.RawMessage) string {
	if string(v) == "null" {
		return ""
	}
	return string(v)
}

func sum(parts ...string) (d digest) {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write([]byte(p))
	}
	h.Sum(d[:0])
	return d
}
