package condenser_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/engine/condenser"
	"github.com/ohgw/ohgw/internal/engine/view"
)

// conversation is a system prompt, a message, and calls with their results.
func conversation(calls int) *view.View {
	v := view.New(nil)
	n := 0
	add := func(source string, b event.Body) {
		v.Append(event.New(fmt.Sprint("e", n), "", source, "", b))
		n++
	}
	add(event.SourceAgent, &event.SystemPrompt{SystemPrompt: event.Text("system")})
	add(event.SourceUser, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: []event.Content{event.Text("do it")}}})
	for i := range calls {
		id := fmt.Sprint("c", i)
		add(event.SourceAgent, &event.Action{
			ToolName: "t", ToolCallID: id, LLMResponseID: id, Action: json.RawMessage(`{}`),
			ToolCall: event.ToolCall{ID: id, Name: "t", Arguments: strings.Repeat("x", 400)},
		})
		add(event.SourceEnvironment, &event.Observation{ToolName: "t", ToolCallID: id, Observation: json.RawMessage(`{"content":[]}`)})
	}
	return v
}

func TestPlanKeepsTheHeadAndHalfOfTheRest(t *testing.T) {
	t.Parallel()
	set := condenser.Settings{MaxSize: 20, KeepFirst: 2}
	v := conversation(10)
	need := set.NeedOf(v, 0, 0)
	if !need.Events || need.Hard() {
		t.Fatalf("need %+v", need)
	}
	start, end, ok := set.Plan(v, need)
	// 22 events; the tail is 20/2-2-1 = 7, and a cut parts no call from its result.
	if !ok || start != 2 || end != 16 {
		t.Errorf("Plan = %d, %d, %v", start, end, ok)
	}
}

func TestNeed(t *testing.T) {
	t.Parallel()
	v := conversation(3)
	for name, tt := range map[string]struct {
		set           condenser.Settings
		tokens, limit int64
		want          condenser.Need
	}{
		"none":              {condenser.Settings{}, 1e9, 1, condenser.Need{}},
		"nothing to do":     {condenser.Settings{MaxSize: 100, KeepFirst: 2}, 10, 100, condenser.Need{}},
		"unknown limit":     {condenser.Settings{MaxSize: 100, KeepFirst: 2}, 1e9, 0, condenser.Need{}},
		"model's limit":     {condenser.Settings{MaxSize: 100, KeepFirst: 2}, 101, 100, condenser.Need{Tokens: 100}},
		"the smaller limit": {condenser.Settings{MaxSize: 100, KeepFirst: 2, MaxTokens: 50}, 60, 100, condenser.Need{Tokens: 50}},
		"own limit only":    {condenser.Settings{MaxSize: 100, KeepFirst: 2, MaxTokens: 50}, 60, 0, condenser.Need{Tokens: 50}},
		"events":            {condenser.Settings{MaxSize: 7, KeepFirst: 1}, 0, 0, condenser.Need{Events: true}},
	} {
		if got := tt.set.NeedOf(v, tt.tokens, tt.limit); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	v.Append(event.New("r", "", event.SourceEnvironment, "", &event.CondensationRequest{}))
	if need := (condenser.Settings{MaxSize: 100, KeepFirst: 2}).NeedOf(v, 0, 0); !need.Wanted || !need.Hard() {
		t.Errorf("a request is no need: %+v", need)
	}
}

func TestEveryPlanIsALegalCutThatMakesRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := conversation(rapid.IntRange(0, 40).Draw(t, "calls"))
		set := condenser.Settings{
			MaxSize: rapid.IntRange(4, 60).Draw(t, "max"), KeepFirst: rapid.IntRange(0, 5).Draw(t, "keep"),
		}
		need := condenser.Need{
			Wanted: rapid.Bool().Draw(t, "wanted"), Events: rapid.Bool().Draw(t, "events"),
			Tokens: rapid.Int64Range(0, 5000).Draw(t, "tokens"),
		}
		start, end, ok := set.Plan(v, need)
		if !ok {
			return
		}
		cuts := map[int]bool{}
		for _, c := range v.Cuts() {
			cuts[c] = true
		}
		if !cuts[start] || !cuts[end] || start >= end || start < set.KeepFirst || end > v.Len() {
			t.Fatalf("Plan = %d, %d of %d, legal cuts %v", start, end, v.Len(), v.Cuts())
		}
	})
}

func TestRequestShowsEventsInPart(t *testing.T) {
	t.Parallel()
	v := conversation(2)
	m := condenser.Request(v.Events(), 100)
	text := event.PlainText(m.Content)
	if m.Role != "user" || !strings.Contains(text, "do it") || strings.Contains(text, "system") && strings.Contains(text, "<event>\nsystem") {
		t.Errorf("request %q", text)
	}
	if strings.Contains(text, strings.Repeat("x", 101)) {
		t.Error("an event is shown in full")
	}
}
