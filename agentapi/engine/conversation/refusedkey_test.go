package conversation_test

import (
	"context"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Clients know a refused key by OpenHands' sentence; a person needs the rest. A key
// that was never sent is not called invalid.
func TestARefusedKeyHasOpenHandsSentence(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		401: "Your LLM API key appears to be invalid or has expired. Say who you are.",
		403: "Your LLM API key appears to be invalid or has expired. Say who you are.",
		0:   "Say who you are.",
	} {
		w := open(t, &model{todo: []reply{func(context.Context, func(llm.Delta)) (llm.Response, error) {
			return llm.Response{}, &llm.Error{Code: llm.CodeAuthentication, Status: status, Detail: "Say who you are."}
		}}}, nil)
		found := false
		for _, e := range w.play("Well?") {
			if failed, is := e.Body.(*event.ConversationError); is {
				found = true
				if failed.Code != llm.CodeAuthentication || failed.Detail != want {
					t.Errorf("status %d: error = %s %q, want %s %q", status, failed.Code, failed.Detail, llm.CodeAuthentication, want)
				}
			}
		}
		if !found {
			t.Errorf("%d: no error", status)
		}
	}
}
