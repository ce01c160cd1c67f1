//go:build unix

package engine_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
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

// criticServer answers as OpenHands' critic does, with a score after the other, and hands on
// what it was asked.
func criticServer(t *testing.T, scores ...string) (url string, asked <-chan string) {
	t.Helper()
	requests := make(chan string, 10)
	left := make(chan string, len(scores))
	for _, s := range scores {
		left <- s
	}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		requests <- r.Header.Get("Authorization") + " " + string(body)
		score := <-left
		if score == "hang" {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(rw, `{"data":[{"probs":[`+score+strings.Repeat(",0.1", 26)+`]}]}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// verified are settings that enable the critic.
func verified(url, more string) func(*engine.Config) {
	return func(c *engine.Config) {
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(`{"verification":{"critic_enabled":true,"critic_api_key":"sk-critic-1234","critic_server_url":"` + url + `"` + more + `}}`)})
	}
}

func TestSettingsEnableACritic(t *testing.T) {
	t.Parallel()
	url, asked := criticServer(t, "0.2", "0.9")
	w := newWorld(t, realTools, verified(url, `,"enable_iterative_refinement":true,"critic_threshold":0.5,"max_refinement_iterations":5,"critic_model_name":"strict"`))
	w.llm.Reply(terminal("echo one"), llmtest.Finish("1"), llmtest.Finish("2"))
	if res := w.say("go"); res.Answer != "2" {
		t.Errorf("result = %+v, want the second answer", res)
	}
	w.expect("SP U A(terminal) O A(finish) O U A(finish) O")
	if got := scores(t, w); got != "ActionEvent 0.2, ActionEvent 0.9" {
		t.Errorf("scores = %s", got)
	}
	first := <-asked
	for _, want := range []string{"Bearer sk-critic-1234 ", `"model":"strict"`, `<|im_start|>user\ngo`, `<tool_response>\none`, `\"name\": \"terminal\"`} {
		if !strings.Contains(first, want) {
			t.Errorf("the critic was asked %.3000s, want %s in it", first, want)
		}
	}
	data, err := os.ReadFile(filepath.Join(w.dir(), "base_state.json"))
	if err != nil || strings.Contains(string(data), "sk-critic-1234") {
		t.Errorf("state = %s, %v, want one without the key", data, err)
	}
}

// The key of the settings is not sent to a server that a client names.
func TestTheKeyOfACriticStaysWithItsServer(t *testing.T) {
	t.Parallel()
	url, asked := criticServer(t, "0.2")
	w := newWorld(t, realTools, verified("http://127.0.0.1:1", ""))
	w.startIt(control.Start{Profile: "main"})
	w.close()
	w.change("base_state.json", func(data []byte) []byte {
		if !strings.Contains(string(data), "APIBasedCritic") {
			t.Errorf("state = %s, want one with a critic", data)
		}
		return []byte(strings.ReplaceAll(string(data), "http://127.0.0.1:1", url))
	})
	w.start()
	w.llm.Reply(llmtest.Text("hello"))
	w.say("go")
	w.close()
	select {
	case request := <-asked:
		t.Errorf("the critic was asked %s", request)
	default:
	}
}

func TestACriticThatDoesNotAnswerIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := withCritic(t, `{"kind":"APIBasedCritic","api_key":"k","server_url":"http://127.0.0.1:1","iterative_refinement":{}}`)
	w.llm.Reply(llmtest.Finish("1"))
	if res := w.say("go"); res.Answer != "1" {
		t.Errorf("result = %+v, want the answer %q", res, "1")
	}
	if got := scores(t, w); got != "" {
		t.Errorf("scores = %s, want no scores", got)
	}
}

func TestAnInterruptEndsACritic(t *testing.T) {
	t.Parallel()
	url, asked := criticServer(t, "hang")
	w := withCritic(t, `{"kind":"APIBasedCritic","api_key":"k","server_url":"`+url+`"}`)
	w.llm.Reply(llmtest.Finish("1"))
	over := w.background("go")
	<-asked
	if err := w.open().Interrupt(w.ctx()); err != nil {
		t.Fatal(err)
	}
	<-over
	w.status(event.Paused)
}

func TestTheSettingsOfARequestEnableACritic(t *testing.T) {
	t.Parallel()
	url, asked := criticServer(t, "0.9")
	w := newWorld(t, realTools)
	w.startIt(control.Start{Settings: json.RawMessage(`{"agent_kind":"openhands","llm":{"model":"openai/test","base_url":"` + w.llm.URL + `","api_key":"k"},
		"verification":{"critic_enabled":true,"critic_api_key":"sk-critic-1234","critic_server_url":"` + url + `","critic_mode":"all_actions"}}`)})
	w.llm.Reply(llmtest.Finish("1"))
	w.say("go")
	if got := scores(t, w); got != "ActionEvent 0.9" {
		t.Errorf("scores = %s", got)
	}
	if request := <-asked; !strings.HasPrefix(request, "Bearer sk-critic-1234 ") {
		t.Errorf("the critic was asked %s", request)
	}
}
