package turn

import (
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// saying is a text of the agent. A final one is an answer; others were said on
// the way.
type saying struct {
	text  string
	final bool
}

// sayings finds the texts of the agent in an event: which of them is an answer is
// decided here, for a turn that goes on and for one that is read later.
func sayings(e event.Event) []saying {
	switch b := e.Body.(type) {
	case *event.Message:
		if e.Source == event.SourceAgent {
			return []saying{{event.PlainText(b.LLMMessage.Content), !b.IsUnfinished()}}
		}
	case *event.Action:
		thought := event.PlainText(b.Thought)
		m, finish := finishMessage(b)
		if strings.TrimSpace(m) == "" {
			m = thought
		}
		switch {
		case !finish:
			return []saying{{thought, false}}
		case m == thought: // said once
			return []saying{{m, true}}
		default:
			return []saying{{thought, false}, {m, true}}
		}
	}
	return nil
}
