//go:build unix

package engine_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestTheLimitOfAMessageIsThatOfItsRun stops exactly before the call that would be too
// much: each takes 110 tokens.
func TestTheLimitOfAMessageIsThatOfItsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Reply{Text: "One moment.", Calls: []llmtest.Call{{Name: "terminal", Args: `{"command":"true"}`}}}, terminal("true"))
	res := w.play(turn.Input{Message: agentapi.Message{Text: "go", Limit: agentapi.Limit{Tokens: 220}}})
	if res.Outcome != turn.Failed || res.Answer != "One moment." || res.Cause.Code != agentapi.CodeBudget || !strings.Contains(res.Cause.Detail, "220 of the 220 tokens that the request allows") {
		t.Errorf("%+v", res)
	}
	w.llm.Reply(terminal("true"), terminal("true"), llmtest.Text("done"))
	if res := w.say("go on"); res.Answer != "done" {
		t.Errorf("%+v", res)
	}
}

// TestTheTokensOfATeamAreThoseOfItsMembers has members that never end by themselves.
func TestTheTokensOfATeamAreThoseOfItsMembers(t *testing.T) {
	t.Parallel()
	w, agents := teamWorld(t, true, func(*engine.Config) {})
	team := agents["team/crew"]
	team.MaxRunTokens = 1000
	agents["team/crew"] = team
	c, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e", Profile: "team/crew", Workspace: w.workspace})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"alpha", "beta"} {
		var replies []llmtest.Reply
		for i := range 30 {
			replies = append(replies, terminal("echo "+strconv.Itoa(i)))
		}
		w.llm.On(llmtest.Model(name), replies...)
	}
	w.llm.On(llmtest.Model("gamma"), llmtest.Text("done"))
	res, err := turn.Run(w.ctx(), c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}})
	if err != nil || res.Outcome != turn.Failed || res.Cause.Code != agentapi.CodeBudget {
		t.Fatalf("%+v, %v", res, err)
	}
	if used := res.Usage.PromptTokens + res.Usage.CompletionTokens; used < 1000 || used > 1000+4*110 {
		t.Errorf("%d tokens were used", used)
	}
	if n := len(callsOf(w, "lead")); n > 0 {
		t.Errorf("the lead was asked %d times", n)
	}
}
