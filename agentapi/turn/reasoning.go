package turn

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// reasoningOf is what the agent thought before what it did, or said, in an event;
// empty: nothing is known of that. Models tell it in one of three forms.
func reasoningOf(e event.Event) string {
	switch b := e.Body.(type) {
	case *event.Message:
		if e.Source == event.SourceAgent {
			m := b.LLMMessage
			return reasoningText(m.ReasoningContent, m.ThinkingBlocks, m.ResponsesReasoningItem)
		}
	case *event.Action:
		return reasoningText(b.ReasoningContent, b.ThinkingBlocks, b.ResponsesReasoningItem)
	}
	return ""
}

func reasoningText(content string, blocks []json.RawMessage, item json.RawMessage) string {
	if text := strings.TrimSpace(content); text != "" {
		return text
	}
	var parts []string
	for _, raw := range blocks {
		var block struct {
			Thinking string `json:"thinking"`
		}
		if json.Unmarshal(raw, &block) == nil { // what is encrypted has none
			parts = append(parts, block.Thinking)
		}
	}
	var summary struct {
		Summary []string `json:"summary"`
	}
	if len(item) > 0 && json.Unmarshal(item, &summary) == nil {
		parts = append(parts, summary.Summary...)
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}
