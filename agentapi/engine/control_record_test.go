package engine_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// record is the world's conversation as its control tells it.
func (w *world) record(id string) control.Record {
	w.t.Helper()
	r, err := w.backend.Control().Record(w.ctx(), id)
	if err != nil {
		w.t.Fatalf("Record: %v", err)
	}
	return r
}

func TestRecordHasNoSecretAndNoTagOfOurs(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(){"open": nil, "closed": func() {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sealed)
			w.startIt(control.Start{
				Agent: json.RawMessage(strings.Replace(inlineAgent, `"tools"`, `"mcp_config":{"s":{"url":"http://x","headers":{"Authorization":"Bearer b"}}},"agent_context":{"secrets":{"C":"context"}},"tools"`, 1)),
				Secrets: map[string]json.RawMessage{
					"STATIC": json.RawMessage(`{"kind":"StaticSecret","value":"a long secret"}`),
					"LOOKED": json.RawMessage(`{"kind":"LookupSecret","url":"/x","headers":{"X-Session-API-Key":"k","Accept":"a"}}`),
				},
				Tags: map[string]string{"color": "red"},
			})
			if change != nil {
				w.start()
			}
			r := w.record(w.id)
			var state struct {
				Agent struct {
					LLM       map[string]any
					Condenser struct{ LLM map[string]any }
					MCP       map[string]struct{ Headers map[string]string } `json:"mcp_config"`
					Context   struct{ Secrets map[string]string }            `json:"agent_context"`
				}
				Registry struct {
					Sources map[string]struct {
						Value   string
						Headers map[string]string
					} `json:"secret_sources"`
				} `json:"secret_registry"`
				Tags map[string]string
			}
			if err := json.Unmarshal(r.State, &state); err != nil {
				t.Fatal(err)
			}
			sources := state.Registry.Sources
			for what, value := range map[string]any{
				"key": state.Agent.LLM["api_key"], "condenser": state.Agent.Condenser.LLM["api_key"], "header": state.Agent.MCP["s"].Headers["Authorization"],
				"context": state.Agent.Context.Secrets["C"], "static": sources["STATIC"].Value, "looked up": sources["LOOKED"].Headers["X-Session-API-Key"],
			} {
				if value != "**********" {
					t.Errorf("%s is %v", what, value)
				}
			}
			if sources["LOOKED"].Headers["Accept"] != "a" {
				t.Errorf("headers %v", sources["LOOKED"].Headers)
			}
			if len(state.Tags) != 1 || state.Tags["color"] != "red" || !strings.Contains(string(r.Meta), `"tags":{"color":"red"}`) {
				t.Errorf("tags %v, meta %s", state.Tags, r.Meta)
			}
			if r.Status != event.Idle || r.Created.IsZero() || r.Updated.IsZero() || r.ID != w.id {
				t.Errorf("record %+v", r)
			}
			for _, part := range []string{"gAAAAA", ownKey, "Bearer"} {
				if strings.Contains(string(r.State)+string(r.Meta), part) {
					t.Errorf("the record has %s", part)
				}
			}
		})
	}
	w := newWorld(t)
	if _, err := w.backend.Control().Record(w.ctx(), uuid.New()); !errors.Is(err, agentapi.ErrConversationNotFound) {
		t.Errorf("unknown id: %v", err)
	}
}

func TestRecordOfAnOpenConversationDoesNotLag(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	w := newWorld(t, gatedTerminal(gate))
	w.llm.Reply(terminal("true"), llmtest.Finish("done"))
	over := w.background("go")
	w.awaitAction()
	r := w.record(w.id)
	var state struct {
		Leaf string `json:"last_user_message_id"`
	}
	if err := json.Unmarshal(r.State, &state); err != nil || r.Status != event.Running || state.Leaf == "" {
		t.Errorf("status %s, last message %q, %v", r.Status, state.Leaf, err)
	}
	close(gate)
	<-over
}

func TestChangeOfAnOpenConversationIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
	w.say("hello")
	title := "A title"
	change := func(ch control.Change) {
		t.Helper()
		if err := w.backend.Control().Change(w.ctx(), w.id, ch); err != nil {
			t.Fatal(err)
		}
	}
	change(control.Change{Title: &title, Tags: map[string]string{"color": "red"}})
	w.say("again") // the end of a run writes meta.json
	check := func(wantTags string) {
		t.Helper()
		if r := w.record(w.id); r.Title != "A title" || !strings.Contains(string(r.Meta), wantTags) || !strings.Contains(string(r.State), wantTags) {
			t.Errorf("record %s %s", r.Meta, r.Title)
		}
	}
	check(`"tags":{"color":"red"}`)
	w.start()
	check(`"tags":{"color":"red"}`)
	change(control.Change{Tags: map[string]string{"shape": "round"}})
	check(`"tags":{"shape":"round"}`)
	if !strings.Contains(w.stored("base_state.json"), `"ohgwprofile":"main"`) {
		t.Error("ohgw's own tags are gone")
	}
	change(control.Change{Tags: map[string]string{"shape": "round"}}) // the same again appends no event
	var told []string
	for _, e := range w.log() {
		if u, ok := e.Body.(*event.StateUpdate); ok && u.Key == event.KeyTags {
			told = append(told, string(u.Value))
		}
	}
	if diff := cmp.Diff([]string{`{"color":"red"}`, `{"shape":"round"}`}, told); diff != "" {
		t.Errorf("events about tags: %s", diff)
	}
	w.conv = nil
	if info := w.open().Info(); info.Profile != "main" {
		t.Errorf("info %+v", info)
	}
}

func TestChangeRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	if err := w.backend.Control().Change(w.ctx(), w.id, control.Change{Tags: map[string]string{"A": ""}}); !errors.Is(err, agentapi.ErrRefused) {
		t.Errorf("tag: %v", err)
	}
	if err := w.backend.Control().Change(w.ctx(), uuid.New(), control.Change{}); !errors.Is(err, agentapi.ErrConversationNotFound) {
		t.Errorf("unknown id: %v", err)
	}
}

// The record lists each call of the model; the base state has their sums only.
func TestTheRecordListsTheCallsOfTheModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("three"))
	w.say("hello")
	w.say("again")
	type metrics struct {
		Costs     []struct{ Cost float64 }
		Latencies []struct {
			Latency  float64
			Response string `json:"response_id"`
		} `json:"response_latencies"`
		Usages []struct {
			Prompt int64 `json:"prompt_tokens"`
		} `json:"token_usages"`
		Sum struct {
			Prompt int64 `json:"prompt_tokens"`
		} `json:"accumulated_token_usage"`
	}
	check := func(calls int) {
		t.Helper()
		var state struct {
			Stats struct {
				Usages map[string]metrics `json:"usage_to_metrics"`
			}
		}
		if err := json.Unmarshal(w.record(w.id).State, &state); err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, m := range state.Stats.Usages {
			for _, u := range m.Usages {
				sum += u.Prompt
			}
			if len(m.Usages) != calls || len(m.Latencies) != calls || m.Latencies[0].Response == "" || sum == 0 || sum != m.Sum.Prompt {
				t.Errorf("after %d calls: %+v", calls, m)
			}
		}
	}
	check(2)
	if strings.Contains(w.stored("base_state.json"), `"token_usages":[{`) {
		t.Error("the base state has the calls")
	}
	w.start()
	w.conv = nil
	file := filepath.Join(w.dir(), "ohgw_calls.jsonl")
	if data, err := os.ReadFile(file); err != nil || os.WriteFile(file, append(data, `{"usage_id":"agent","us`...), 0o600) != nil {
		t.Fatal(err) // a machine that died has torn the last line
	}
	check(2)
	w.say("once more")
	check(3)
}
