package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// placed are profiles at addresses: "kept" and "spare" at http://x, and the active "apart".
// The key of each is its name.
type placed struct{ *enginetest.Profiles }

func (placed) List(context.Context) ([]agentapi.Profile, error) {
	return []agentapi.Profile{{Name: "apart", Active: true}, {Name: "broken"}, {Name: "empty"}, {Name: "kept"}, {Name: "spare"}}, nil
}

func (p placed) Load(ctx context.Context, name string) (engine.Profile, error) {
	url, key := "http://x", name
	switch name {
	case "broken":
		return engine.Profile{}, agentapi.ErrRefused
	case "apart":
		url = "http://apart"
	case "empty":
		key = ""
	case "kept", "spare":
	default:
		return p.Profiles.Load(ctx, name)
	}
	data := json.RawMessage(fmt.Sprintf(`{"model":"openai/test","base_url":%q}`, url))
	return engine.Profile{Name: name, LLM: data, Key: func(context.Context, string) (string, error) { return key, nil }}, nil
}

func placedProfiles(c *engine.Config) { c.Profiles = placed{c.Profiles.(*enginetest.Profiles)} }

// TestAnLLMWithoutAKeyHasThatOfItsProfile starts conversations in every way in which an
// LLM comes without a key, as OpenHands' programs send the settings.
func TestAnLLMWithoutAKeyHasThatOfItsProfile(t *testing.T) {
	t.Parallel()
	for object, key := range map[string]string{
		`{"model":"openai/test","base_url":"http://x"}`:                                      "kept",
		`{"model":"openai/test","base_url":"http://x/","api_key":null,"temperature":1}`:      "kept",
		`{"model":"openai/test","base_url":"http://x","api_key":""}`:                         "kept",
		`{"model":"openai/test","base_url":"http://x","api_key":"**********"}`:               "kept",
		`{"model":"openai/test","base_url":"http://apart"}`:                                  "apart",
		`{"model":"openai/test","base_url":"http://x","api_key":"mine"}`:                     "mine",
		`{"model":"openai/test","base_url":"http://x.example"}`:                              "",
		`{"model":"openai/test","base_url":"http://x","ollama_base_url":"http://elsewhere"}`: "",

		`{"model":"openai/test"}`:                       "",
		`{"model":"openai/else","base_url":"http://x"}`: "",

		`{"model":"openai/test","base_url":"http://x","aws_access_key_id":"a","usage_id":"own"}`: "",
	} {
		for way, start := range map[string]control.Start{
			"agent":    {Agent: json.RawMessage(`{"kind":"Agent","llm":` + object + `}`)},
			"settings": {Settings: json.RawMessage(`{"agent_kind":"openhands","llm":` + object + `}`)},
		} {
			t.Run(way+" "+object, func(t *testing.T) {
				t.Parallel()
				var models asked
				w := newWorld(t, sealed, placedProfiles, models.watch)
				w.startIt(start)
				w.llm.Reply(llmtest.Text("one"))
				w.say("hello")
				models.hasKey(t, key)
				if state := w.stored("base_state.json"); key != "mine" && strings.Contains(state, `"api_key":"gAAAAA`) {
					t.Errorf("the profile's key is stored: %s", state)
				}
				models.list = nil
				w.reopened()
				w.llm.Reply(llmtest.Text("two"))
				w.say("again")
				models.hasKey(t, key)
			})
		}
	}
}

// TestASwitchToAnLLMWithoutAKeyHasThatOfItsProfile sends one to a conversation that has
// another model, and a summary is made by one.
func TestASwitchToAnLLMWithoutAKeyHasThatOfItsProfile(t *testing.T) {
	t.Parallel()
	var models asked
	w := newWorld(t, placedProfiles, models.watch)
	w.startIt(control.Start{Agent: json.RawMessage(inlineAgent)})
	if err := w.conv.(control.Conversation).SwitchLLM(t.Context(), json.RawMessage(`{"model":"openai/test","base_url":"http://x","usage_id":"new"}`)); err != nil {
		t.Fatal(err)
	}
	w.llm.Reply(llmtest.Text("one"))
	w.say("hello")
	models.has(t, " openai/test new kept")
}

// hasKey checks the key of all models that were made.
func (a *asked) hasKey(t *testing.T, want string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.list {
		if got := one[strings.LastIndexByte(one, ' ')+1:]; got != want {
			t.Errorf("models %q, want the key %q", a.list, want)
		}
	}
	if len(a.list) == 0 {
		t.Error("no model was made")
	}
}
