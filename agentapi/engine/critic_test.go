//go:build unix

package engine_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// withCritic is a world whose agent has a critic, in a repository without a commit.
func withCritic(t *testing.T, critic string) *world {
	t.Helper()
	w := newWorld(t, realTools, func(c *engine.Config) { c.SkillEnv = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"} })
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", w.workspace).CombinedOutput(); err != nil {
		t.Skipf("there is no git: %v %s", err, out)
	}
	w.startIt(control.Start{Agent: json.RawMessage(`{"kind":"Agent","llm":{"model":"openai/test","base_url":"` + w.llm.URL + `","api_key":"k"},"tools":[{"name":"terminal"}],"critic":` + critic + `}`)})
	return w
}

// scores are those in the log, and the kinds of the events that have them.
func scores(w *world) (list []string) {
	for _, e := range w.log() {
		var result *event.CriticResult
		switch b := e.Body.(type) {
		case *event.Action:
			result = b.CriticResult
		case *event.Message:
			result = b.CriticResult
		}
		if result != nil {
			data, _ := json.Marshal(result.Score)
			list = append(list, e.Kind()+" "+string(data))
		}
	}
	return list
}

func TestACriticSendsTheAgentBackToWork(t *testing.T) {
	t.Parallel()
	w := withCritic(t, `{"kind":"AgentFinishedCritic","iterative_refinement":{"success_threshold":0.6,"max_iterations":2}}`)
	w.llm.Reply(llmtest.Finish("done"), terminal("touch made"), llmtest.Finish("really done"))
	if res := w.say("go"); res.Answer != "really done" {
		t.Errorf("%+v", res)
	}
	w.expect("SP U A(finish) O U A(terminal) O A(finish) O")
	w.status(event.Finished)
	if got := strings.Join(scores(w), ", "); got != "ActionEvent 0, ActionEvent 1" {
		t.Error(got)
	}
	if told := w.llm.Await(t, 2).Last().Text; !strings.Contains(told, "round 1") || !strings.Contains(told, "0.0 %") {
		t.Errorf("the agent was told %q", told)
	}
}

func TestRefinementEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	w := withCritic(t, `{"kind":"EmptyPatchCritic","iterative_refinement":{"max_iterations":2}}`)
	w.llm.Reply(llmtest.Finish("1"), llmtest.Finish("2"), llmtest.Finish("3"))
	if res := w.say("go"); res.Answer != "3" {
		t.Errorf("%+v", res)
	}
	w.expect("SP U A(finish) O U A(finish) O U A(finish) O")
	data, err := os.ReadFile(w.dir() + "/base_state.json")
	if err != nil || !strings.Contains(string(data), `"iterative_refinement_iteration":2`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestACriticOnlyScoresWithoutRefinement(t *testing.T) {
	t.Parallel()
	w := withCritic(t, `{"kind":"PassCritic"}`)
	w.llm.Reply(terminal("true"), llmtest.Text("done"))
	w.say("go")
	w.expect("SP U A(terminal) O M")
	if got := strings.Join(scores(w), ", "); got != "MessageEvent 1" {
		t.Error(got)
	}
}

func TestAnUnknownCriticIsNotAsked(t *testing.T) {
	t.Parallel()
	w := withCritic(t, `{"kind":"APIBasedCritic","server_url":"http://127.0.0.1:1","api_key":"k","model_name":"critic"}`)
	w.llm.Reply(llmtest.Finish("done"))
	if res := w.say("go"); res.Answer != "done" || len(scores(w)) != 0 {
		t.Errorf("%+v %v", res, scores(w))
	}
}
