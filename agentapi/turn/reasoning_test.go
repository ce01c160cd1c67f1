package turn_test

import (
	"encoding/json"
	"testing"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// Models tell what they think in several forms; each is one item.
func TestReasoningHasSeveralForms(t *testing.T) {
	t.Parallel()
	thinking := []json.RawMessage{[]byte(`{"type":"thinking","thinking":"I think."}`), []byte(`{"type":"redacted_thinking","data":"x"}`)}
	summary := []byte(`{"id":"rs_1","summary":["I think."]}`)
	for name, body := range map[string]event.Body{
		"a text of an action":  &event.Action{ToolCallID: "c", ReasoningContent: " I think.\n"},
		"blocks of an action":  &event.Action{ToolCallID: "c", ThinkingBlocks: thinking},
		"an item of an action": &event.Action{ToolCallID: "c", ResponsesReasoningItem: summary},
		"a text of a message":  &event.Message{LLMMessage: event.LLMMessage{Role: "assistant", ReasoningContent: "I think."}},
		"both forms":           &event.Action{ToolCallID: "c", ReasoningContent: "I think.", ThinkingBlocks: thinking},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &logOf{}
			l.add(event.SourceAgent, body)
			items, _, err := turn.Items(t.Context(), l, "c", turn.ItemQuery{Limit: 9})
			if err != nil || len(items) != 1 || items[0].Kind != turn.ItemReasoning || items[0].Text != "I think." {
				t.Errorf("items = %+v, error %v", items, err)
			}
		})
	}
	quiet := &logOf{}
	quiet.add(event.SourceAgent, &event.Action{ToolCallID: "c", ReasoningContent: " ", ThinkingBlocks: thinking[1:]})
	if items, _, err := turn.Items(t.Context(), quiet, "c", turn.ItemQuery{Limit: 9}); err != nil || len(items) != 0 {
		t.Errorf("items = %+v, error %v", items, err)
	}
}
