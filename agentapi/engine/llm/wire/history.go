package wire

import "github.com/ohgw/ohgw/agentapi/event"

// HasCalls reports whether a history holds tool calls.
func HasCalls(history []event.LLMMessage) bool {
	for _, m := range history {
		if len(m.ToolCalls) > 0 {
			return true
		}
	}
	return false
}

// ThinkingLost reports whether the model is in the middle of calling tools and
// its thinking before those calls is not known: another model made them, or it
// did not think. Thinking cannot be switched on then.
func ThinkingLost(history []event.LLMMessage) bool {
	for i := len(history) - 1; i >= 0; i-- {
		switch history[i].Role {
		case "tool":
		case "assistant":
			return len(history[i].ToolCalls) > 0 && len(history[i].ThinkingBlocks) == 0
		default:
			return false
		}
	}
	return false
}
