package cloud_test

import (
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// TestASandboxThatDoesNotAnswerForAMomentIsAskedAgain: it is neither archived nor
// woken, and each message arrives once.
func TestASandboxThatDoesNotAnswerForAMomentIsAskedAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c, err := p.open(t, agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast"})
	if err != nil {
		t.Fatal(err)
	}
	p.llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
	for i, want := range []string{"one", "two"} {
		sandbox := p.server.Sandbox(c.Info().ID)
		sandbox.Fail("GET", "/events/search", 1, 503, `{"detail":"overloaded"}`)
		if answer, err := say(t, c, "go"); err != nil || answer != want {
			t.Errorf("turn %d: %q, %v", i, answer, err)
		}
		if n := len(sandbox.Calls("POST", "/events")); n != i+1 {
			t.Errorf("%d messages after turn %d", n, i)
		}
	}
	if n := len(p.server.Calls("POST", "/resume")); n != 0 {
		t.Errorf("%d resumes", n)
	}
}
