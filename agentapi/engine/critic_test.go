//go:build unix

package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// withCritic is a world whose agent has a critic.
func withCritic(t *testing.T, critic string, options ...func(*engine.Config)) *world {
	t.Helper()
	w := newWorld(t, append([]func(*engine.Config){realTools, hooks(t)}, options...)...)
	w.startIt(control.Start{Agent: json.RawMessage(`{"kind":"Agent","llm":{"model":"openai/test","base_url":"` + w.llm.URL + `","api_key":"k"},"tools":[{"name":"terminal"}],"critic":` + critic + `}`)})
	return w
}

// scores are those in the log, behind the kinds of the events that have them.
func scores(t *testing.T, w *world) string {
	t.Helper()
	var all []string
	for _, e := range w.log() {
		var result *event.CriticResult
		switch b := e.Body.(type) {
		case *event.Action:
			result = b.CriticResult
		case *event.Message:
			result = b.CriticResult
		}
		if result != nil {
			data, err := json.Marshal(result.Score)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e.Kind()+" "+string(data))
		}
	}
	return strings.Join(all, ", ")
}

func TestACriticSendsTheAgentBackToWork(t *testing.T) {
	t.Parallel()
	w := withCritic(t, `{"kind":"AgentFinishedCritic","iterative_refinement":{"success_threshold":0.6,"max_iterations":2}}`)
	w.llm.Reply(llmtest.Finish("1"), terminal("touch made"), llmtest.Finish("2"), llmtest.Finish("3"))
	if res := w.say("go"); res.Answer != "3" || res.Outcome != turn.Finished {
		t.Errorf("result = %+v, want the last answer", res)
	}
	w.expect("SP U A(finish) O U A(terminal) O A(finish) O U A(finish) O")
	if got := scores(t, w); got != "ActionEvent 0, ActionEvent 0, ActionEvent 0" {
		t.Errorf("scores = %s", got)
	}
	if told := w.llm.Await(t, 2).Last().Text; !strings.HasPrefix(told, "The task appears incomplete (iteration 1, predicted success likelihood: 0.0%).") {
		t.Errorf("the agent was told %q", told)
	}
	data, err := os.ReadFile(filepath.Join(w.dir(), "base_state.json"))
	if err != nil || !strings.Contains(string(data), `"iterative_refinement_iteration":2`) {
		t.Errorf("state = %s, %v, want two rounds", data, err)
	}
	// The rounds count for the conversation, also when it is opened again.
	w.close()
	w.start()
	w.llm.Reply(llmtest.Finish("4"))
	if res := w.say("again"); res.Answer != "4" {
		t.Errorf("result = %+v, want the answer %q", res, "4")
	}
}

func TestACriticWithoutRefinementOnlyScores(t *testing.T) {
	t.Parallel()
	for critic, want := range map[string]string{
		`{"kind":"PassCritic"}`:                             "MessageEvent 1",
		`{"kind":"PassCritic","mode":"all_actions"}`:        "ActionEvent 1",
		`{"kind":"EmptyPatchCritic"}`:                       "MessageEvent 0",
		`null`:                                              "",
		`{"kind":"UnknownCritic","mode":"all_actions"}`:     "",
		`{"kind":"PassCritic","iterative_refinement":{}}`:   "MessageEvent 1",
		`{"kind":"PassCritic","iterative_refinement":null}`: "MessageEvent 1",
	} {
		w := withCritic(t, critic)
		w.llm.Reply(terminal("true"), llmtest.Text("done"))
		w.say("go")
		w.expect("SP U A(terminal) O M")
		if got := scores(t, w); got != want {
			t.Errorf("%s: scores = %s, want %s", critic, got, want)
		}
	}
}

// An end that a hook refuses is not a round of the critic.
func TestACriticWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	const strict = `{"kind":"EmptyPatchCritic","iterative_refinement":{"max_iterations":1}}`
	w := withCritic(t, strict, hooks(t, [3]string{"PreToolUse", "finish", "if [ -e seen ]; then exit 0; fi; touch seen; exit 2"}))
	w.llm.Reply(llmtest.Finish("1"), llmtest.Finish("2"), llmtest.Finish("3"))
	if res := w.say("go"); res.Answer != "3" {
		t.Errorf("result = %+v, want the answer %q", res, "3")
	}
	w.expect("SP U H A(finish) R H A(finish) O U H A(finish) O")
}

// A hook sees the message of the critic as one of the user.
func TestAHookMayRefuseTheMessageOfACritic(t *testing.T) {
	t.Parallel()
	w := withCritic(t, `{"kind":"EmptyPatchCritic","iterative_refinement":{}}`, hooks(t, [3]string{"UserPromptSubmit", "*", "grep -q incomplete && exit 2; exit 0"}))
	w.llm.Reply(llmtest.Finish("1"))
	w.play(turn.Input{Message: agentapi.Message{Text: "go"}})
	w.expect("SP H U A(finish) O H U")
	w.status(event.Finished)
}
