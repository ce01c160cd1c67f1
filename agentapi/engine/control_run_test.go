//go:build unix

package engine_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// controlled opens the world's conversation as OpenHands' own programs do.
func (w *world) controlled() control.Conversation {
	w.t.Helper()
	w.open()
	c, err := w.backend.Control().Open(w.ctx(), w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// appended runs a message to the end of its run.
func (w *world) appended(c control.Conversation, text string) {
	w.t.Helper()
	s, err := c.Watch(w.ctx(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	if err := c.Append(w.ctx(), control.Message{Content: []event.Content{event.Text(text)}}, true); err != nil {
		w.t.Fatal(err)
	}
	for first := true; ; first = false {
		e, err := s.Next(w.ctx())
		if err != nil {
			w.t.Fatal(err)
		}
		if _, snapshot, _ := e.FullState(); snapshot && !first {
			return
		}
	}
}

// A secret that comes later is in the environment of the next command, sealed on
// the disk, and in the clear nowhere.
func TestASecretThatComesLaterIsInTheNextCommand(t *testing.T) {
	t.Parallel()
	const value = "tok-4711-do-not-show"
	w := newWorld(t, realTools, func(c *engine.Config) {
		c.Seal = func(v string) (string, error) { return "gAAAAA" + base64.StdEncoding.EncodeToString([]byte(v)), nil }
		c.Unseal = func(v string) (string, error) {
			data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(v, "gAAAAA"))
			return string(data), err
		}
	})
	c := w.controlled()
	w.llm.Reply(terminal("echo first-$API_TOKEN"), llmtest.Text("None."), terminal("echo second-$API_TOKEN-${#API_TOKEN}"), llmtest.Text("Now."),
		terminal("echo third-${#API_TOKEN}"), llmtest.Text("Still."))
	w.appended(c, "go")
	sources := map[string]json.RawMessage{
		"API_TOKEN": json.RawMessage(`{"kind":"StaticSecret","value":"` + value + `","description":"for the API"}`),
		"EMPTY":     json.RawMessage(`{"kind":"StaticSecret","value":null}`),
	}
	if err := c.AddSecrets(w.ctx(), sources); err != nil {
		t.Fatal(err)
	}
	w.appended(c, "again")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	w.close()
	w.start()
	w.appended(w.controlled(), "and after the process")
	outputs := ""
	for _, e := range w.log() {
		if o, ok := e.Body.(*event.Observation); ok {
			outputs += string(o.Observation)
		}
	}
	for _, part := range []string{"first-", `second-\u003csecret-hidden\u003e-20`, "third-20"} {
		if !strings.Contains(outputs, part) {
			t.Errorf("the outputs %s have no %q", outputs, part)
		}
	}
	for _, file := range append(w.files("*.json"), w.files("events/*")...) {
		if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), value) {
			t.Errorf("%s has the secret, or cannot be read: %v", filepath.Base(file), err)
		}
	}
	if err := w.controlled().AddSecrets(w.ctx(), map[string]json.RawMessage{"X": json.RawMessage(`{"kind":"Vault","value":"` + value + `"}`)}); !errors.Is(err, agentapi.ErrRefused) || strings.Contains(err.Error(), value) {
		t.Errorf("a source that is not known: %v", err)
	}
}

func TestTheNamesOfSecretsAreInThePrompt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.controlled()
	if err := c.AddSecrets(w.ctx(), map[string]json.RawMessage{"API_TOKEN": json.RawMessage(`{"kind":"StaticSecret","value":"v","description":"for the API"}`)}); err != nil {
		t.Fatal(err)
	}
	w.llm.Reply(llmtest.Text("Hello."))
	w.appended(c, "go")
	if p := lastOf[*event.SystemPrompt](t, w.log()); p.DynamicContext == nil || !strings.Contains(p.DynamicContext.Text, "$API_TOKEN: for the API") {
		t.Error("the prompt does not tell the name")
	}
}

func TestSwitchesThatCannotBeSetSayWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.controlled()
	for name, test := range map[string]struct {
		err  error
		kind error
	}{
		"policy":   {c.SetPolicy(w.ctx(), json.RawMessage(`{"kind":"Sometimes"}`)), agentapi.ErrRefused},
		"analyzer": {c.SetAnalyzer(w.ctx(), json.RawMessage(`{"kind":"GraySwanAnalyzer"}`)), agentapi.ErrUnsupported},
		"unknown":  {c.SetAnalyzer(w.ctx(), json.RawMessage(`{"kind":"Mine"}`)), agentapi.ErrRefused},
		"event":    {c.Navigate(w.ctx(), "nowhere"), control.ErrNoEvent},
		"goal":     {c.ResumeGoal(w.ctx()), control.ErrNoGoal},
	} {
		if !errors.Is(test.err, test.kind) || agentapi.PublicMessage(test.err, "x") == "" {
			t.Errorf("%s: %v, want %v", name, test.err, test.kind)
		}
	}
	for _, analyzer := range []string{agentapi.AnalyzerLLM, "null", `{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"PatternSecurityAnalyzer"}]}`, "null"} {
		if err := c.SetAnalyzer(w.ctx(), json.RawMessage(analyzer)); err != nil {
			t.Error(err)
		}
	}
	if err := c.SetPolicy(w.ctx(), json.RawMessage(agentapi.PolicyAlways)); err != nil {
		t.Error(err)
	}
}

// A question costs tokens under a name of its own.
func TestAQuestionIsCountedByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.controlled()
	w.llm.Reply(llmtest.Text("Hello."), llmtest.Text("It said hello."))
	w.appended(c, "go")
	before := len(w.log())
	if got, err := c.Ask(w.ctx(), "what did it say?"); got != "It said hello." || err != nil {
		t.Errorf("the answer is %q, %v", got, err)
	}
	if now := len(w.log()); now != before {
		t.Errorf("the log has %d events, before it had %d", now, before)
	}
	s, err := c.State(w.ctx())
	if m := s.Stats.UsageToMetrics["ask-agent-llm"]; err != nil || m.Usage == nil || m.Usage.PromptTokens == 0 {
		t.Errorf("the statistics are %+v, %v", s.Stats, err)
	}
}

// A tool of the client is offered to the model, and its calls are acknowledged.
func TestAToolOfTheClientIsCalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	c, created, err := w.backend.Control().Start(w.ctx(), control.Start{
		ID: w.id, Profile: "main", Workspace: w.workspace,
		Request: json.RawMessage(`{"client_tools":[{"name":"show_map","description":"Shows a map.",
			"parameters":{"type":"object","properties":{"place":{"type":"string"}},"required":["place"]}},{"name":"terminal","description":"Not this one."}]}`),
	})
	if err != nil || !created {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	w.llm.Reply(llmtest.Tool("show_map", `{"place":"Delft","security_risk":"LOW","summary":"show"}`), llmtest.Text("There."))
	w.appended(c, "where?")
	w.expect("SP U A(show_map) O M")
	log := w.log()
	if a := lastOf[*event.Action](t, log); string(a.Action) != `{"place":"Delft","kind":"ClientAction_show_map"}` {
		t.Errorf("the action is %s", a.Action)
	}
	if o := lastOf[*event.Observation](t, log); !strings.Contains(string(o.Observation), `"kind":"ClientToolObservation"`) {
		t.Errorf("the observation is %s", o.Observation)
	}
	var stored string
	for _, t := range lastOf[*event.SystemPrompt](t, log).Tools {
		stored += string(t)
	}
	for _, part := range []string{`"client_tool_name":"show_map","input_schema":{"type":"object"`, `"kind":"ClientTool"`} {
		if strings.Count(stored, part) != 1 {
			t.Errorf("the stored tools %s have %s not once", stored, part)
		}
	}
}

// A goal is pursued also while no client has a handle on its conversation.
func TestAGoalKeepsItsConversationOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.MaxIdle = -1 })
	c := w.controlled()
	w.llm.Reply(llmtest.Text("One."), llmtest.Text(`{"complete":false,"missing":"two"}`), llmtest.Text("Two."), llmtest.Text(`{"complete":true}`))
	if err := c.StartGoal(w.ctx(), "all", 3); err != nil {
		t.Fatal(err)
	}
	for _, h := range []agentapi.Conversation{c, w.conv} {
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	w.conv = nil
	w.llm.Await(t, 4)
	over := func(ctx context.Context) bool {
		s, err := w.open().Watch(ctx, agentapi.FromStart)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for {
			e, err := s.Next(ctx)
			if err != nil {
				return false
			}
			if u, ok := e.Body.(*event.StateUpdate); ok && u.Key == "goal" && strings.Contains(string(u.Value), `"active":false`) {
				return strings.Contains(string(u.Value), `"status":"complete","iteration":2`)
			}
		}
	}
	if !over(w.ctx()) {
		t.Error("the goal was not reached")
	}
}

// Without a key to encrypt them, added secrets live as long as the process.
func TestSecretsWithoutASealOutliveTheOpening(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	c := w.controlled()
	w.llm.Reply(terminal("echo ${#FIRST}-${#SECOND}"), llmtest.Text("Done."))
	for name, value := range map[string]string{"FIRST": "four", "SECOND": "seven-7"} {
		if err := c.AddSecrets(w.ctx(), map[string]json.RawMessage{name: json.RawMessage(`{"kind":"StaticSecret","value":"` + value + `"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(c.Close(), w.conv.Close(), w.backend.Control().Rest(w.ctx())); err != nil {
		t.Fatal(err)
	}
	w.conv = nil
	w.appended(w.controlled(), "go")
	if o := lastOf[*event.Observation](t, w.log()[:len(w.log())-2]); !strings.Contains(string(o.Observation), "4-7") {
		t.Errorf("the output is %s", o.Observation)
	}
}
