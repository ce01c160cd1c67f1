//go:build unix

package engine_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestACopyOfATeamsConversationHasTheMembersAsTheyWere edits the second of two messages.
func TestACopyOfATeamsConversationHasTheMembersAsTheyWere(t *testing.T) {
	t.Parallel()
	w, _ := teamWorld(t, true)
	for _, name := range []string{"alpha", "beta", "gamma", "lead"} {
		w.llm.On(llmtest.Model(name), llmtest.Text(name+" first"), llmtest.Text(name+" second"), llmtest.Text(name+" third"))
	}
	w.say("one")
	at := w.at(8) // SP U A A A O O O M
	w.say("two")
	w.fork(at)
	if res := w.say("two, edited"); res.Answer != "lead third" || res.Usage.PromptTokens != 400 {
		t.Errorf("result = %+v", res)
	}
	for _, name := range []string{"alpha", "gamma", "lead"} {
		body := string(callsOf(w, name)[2].Body)
		if !strings.Contains(body, name+" first") || !strings.Contains(body, "two, edited") || strings.Contains(body, name+" second") {
			t.Errorf("%s was asked %s", name, body)
		}
	}
	if dirs := children(t, w); len(dirs) != 3 {
		t.Errorf("members of the copy = %q, want 3", dirs)
	}
}

// TestACopyOfWhatWaitsAsksNothing has the copied conversation wait for a member.
func TestACopyOfWhatWaitsAsksNothing(t *testing.T) {
	t.Parallel()
	w, _ := teamWorld(t, true)
	w.llm.On(llmtest.Model("alpha"), llmtest.Text("alpha knows"))
	w.llm.On(llmtest.Model("beta"), llmtest.Text("beta knows"))
	w.llm.On(llmtest.Model("gamma"), terminal("touch asked"), llmtest.Text("gamma leaves it"))
	w.llm.On(llmtest.Model("lead"), llmtest.Text("The answer."))
	waitsFor(t, w.say("go"), "gamma: $ touch asked")
	w.fork("")
	state, err := w.open().State(w.ctx())
	if err != nil || state.Status == event.Waiting || len(state.Asked) != 0 {
		t.Errorf("state = %+v, %v", state, err)
	}
	if res := w.say("and now?"); res.Answer != "The answer." || made(w, "asked") {
		t.Errorf("result = %+v, the action ran: %t", res, made(w, "asked"))
	}
}
