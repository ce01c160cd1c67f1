package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestCopyKeepsItsOwnKey(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*engine.Config){"sealed": sealed, "in memory": func(*engine.Config) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var models asked
			w := newWorld(t, change, models.watch)
			w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
			source := w.startIt(control.Start{Agent: json.RawMessage(inlineAgent), Tags: map[string]string{"color": "red"}})
			w.say("hello")
			models.list = nil
			c, err := source.Copy(w.ctx(), control.Fork{Title: "The copy", KeepMetrics: true})
			if err != nil {
				t.Fatal(err)
			}
			old := w.id
			w.id, w.conv = c.Info().ID, c
			if res := w.say("again"); res.Answer != "two" {
				t.Errorf("result %+v", res)
			}
			models.has(t, " openai/inline mine "+ownKey)
			w.expect("SP U M U M")
			r := w.record(w.id)
			var stats struct {
				Stats struct {
					Usage map[string]struct {
						Usage struct {
							Prompt int `json:"prompt_tokens"`
						} `json:"accumulated_token_usage"`
					} `json:"usage_to_metrics"`
				}
			}
			if err := json.Unmarshal(r.State, &stats); err != nil || stats.Stats.Usage["mine"].Usage.Prompt != 200 {
				t.Errorf("stats %+v, %v", stats, err)
			}
			for _, part := range []string{`"title":"The copy"`, `"forked_from_conversation_id":"` + old + `"`, `"tags":{"color":"red"}`} {
				if !strings.Contains(string(r.Meta), part) {
					t.Errorf("no %s in %s", part, r.Meta)
				}
			}
		})
	}
}

func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.startIt(control.Start{Agent: json.RawMessage(inlineAgent)})
	if _, err := c.Copy(w.ctx(), control.Fork{ID: w.id}); !errors.Is(err, control.ErrTaken) {
		t.Errorf("taken: %v", err)
	}
	if _, err := c.Copy(w.ctx(), control.Fork{From: "nothing"}); !errors.Is(err, control.ErrNoEvent) {
		t.Errorf("unknown event: %v", err)
	}
	if _, err := c.Copy(w.ctx(), control.Fork{Tags: map[string]string{"A": ""}}); !errors.Is(err, agentapi.ErrRefused) {
		t.Errorf("tag: %v", err)
	}
}

func TestSwitchLLM(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*engine.Config){"sealed": sealed, "in memory": func(*engine.Config) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var models asked
			w := newWorld(t, change, models.watch)
			w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("three"))
			w.open() // with a profile
			c, err := w.backend.Control().Open(w.ctx(), w.id)
			if err != nil {
				t.Fatal(err)
			}
			use := func(llm string) {
				t.Helper()
				if err := c.SwitchLLM(w.ctx(), json.RawMessage(llm)); err != nil {
					t.Fatal(err)
				}
			}
			use(`{"model":"openai/new","api_key":"sk-new","usage_id":"new","base_url":"http://x"}`)
			w.say("hello")
			models.has(t, " openai/new new sk-new")
			use(`{"model":"openai/newer","api_key":"sk-newer","usage_id":"new"}`)
			w.say("again")
			if strings.Contains(strings.Join(models.list, "\n"), "newer") {
				t.Errorf("an LLM with a known usage id was used: %q", models.list)
			}
			if state := w.stored("base_state.json"); strings.Contains(state, "sk-new") || strings.Contains(state, "ohgwprofile") {
				t.Error(state)
			}
			if err := w.conv.Switch(w.ctx(), "other"); err != nil {
				t.Fatal(err)
			}
			w.say("and again")
			models.has(t, "other openai/other profile:other sk-test-0123456789")
			if !strings.Contains(w.stored("base_state.json"), `"ohgwprofile":"other"`) {
				t.Error("no profile is stored")
			}
			if err := c.SwitchLLM(w.ctx(), json.RawMessage(`{}`)); !errors.Is(err, agentapi.ErrRefused) {
				t.Errorf("no model: %v", err)
			}
		})
	}
}
