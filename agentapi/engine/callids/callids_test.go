package callids_test

import (
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/callids"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

func TestIDsThatAProviderRepeatsAreMadeUnique(t *testing.T) {
	t.Parallel()
	k := callids.New()
	k.Remember(&event.Action{LLMResponseID: "r", ToolCallID: "call_0"})
	for _, tt := range []struct{ id, call, wantID, wantCall string }{
		{"r", "call_0", "r-2", "call_0_2"}, // both were in the log
		{"r", "call_0", "r-3", "call_0_3"},
		{"new", "call_9", "new", "call_9"}, // no event has these
	} {
		resp := llm.Response{ID: tt.id, Message: event.LLMMessage{ToolCalls: []event.ToolCall{{ID: tt.call}}}}
		k.MakeUnique(&resp)
		if resp.ID != tt.wantID {
			t.Errorf("the answer %s is called %s, want %s", tt.id, resp.ID, tt.wantID)
		}
		if got := resp.Message.ToolCalls[0].ID; got != tt.wantCall {
			t.Errorf("the call %s is called %s, want %s", tt.call, got, tt.wantCall)
		}
	}
}

func TestTwoCallsOfOneAnswerHaveTwoIDs(t *testing.T) {
	t.Parallel()
	k := callids.New()
	resp := llm.Response{ID: "r", Message: event.LLMMessage{ToolCalls: []event.ToolCall{{ID: "x"}, {ID: "x"}}}}
	k.MakeUnique(&resp)
	if first, second := resp.Message.ToolCalls[0].ID, resp.Message.ToolCalls[1].ID; first == second {
		t.Errorf("both calls are called %s", first)
	}
}
