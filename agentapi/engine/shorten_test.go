package engine_test

import (
	"errors"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// The next turn is answered as if there had been no request for a summary.
func TestASummaryThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withRealModels(twice))
	w.llm.Reply(llmtest.Text("It is 4711."), llmtest.Text("Yes."), llmtest.Fail(401, "the key is wrong"), llmtest.Text("4711."))
	w.say("the number?")
	w.say("really?")
	done, err := w.conv.Condense(t.Context())
	if !errors.Is(err, agentapi.ErrRefused) || done.Done {
		t.Errorf("Condense() = %+v, %v", done, err)
	}
	if res := w.say("again?"); res.Answer != "4711." {
		t.Errorf("result %+v", res)
	}
	w.expect("SP U M U M U M")
}
