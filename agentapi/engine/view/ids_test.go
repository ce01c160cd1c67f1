package view_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

func TestTakenIDsGetAnotherOfTheirForm(t *testing.T) {
	t.Parallel()
	ids := make(view.IDs)
	for _, tt := range [][2]string{
		{"call_x", "call_x"},
		{"call_x", "call_x_2"},
		{"call_x", "call_x_3"},
		{"call_x_2", "call_x_2_2"},
		{"0", "0"},
		{"0", "1"},
		{"1", "2"},
		{"functions.terminal:0", "functions.terminal:0"},
		{"functions.terminal:0", "functions.terminal:1"},
		{"a:01", "a:01"},
		{"a:01", "a:01_2"},
		{"", "call"},
		{"", "call_2"},
		{"g" + wire.Separator + "s", "g" + wire.Separator + "s"},
		{"g" + wire.Separator + "t", "g_2" + wire.Separator + "t"},
	} {
		if got := ids.Take(tt[0]); got != tt[1] {
			t.Errorf("Take(%q) = %q, want %q", tt[0], got, tt[1])
		}
	}
}

// turns is a log in which nothing but the ids of events is unique.
type turns struct {
	log  []event.Event
	want []string
	n    int
}

func (h *turns) add(source string, b event.Body) string {
	id := fmt.Sprintf("event-%d", len(h.log))
	h.log = append(h.log, event.New(id, "", source, "", b))
	return id
}

// answer adds an answer with calls, whose ids are those given, and its results.
// A call whose id begins with "!" is refused, one with "?" fails.
func (h *turns) answer(response string, named bool, ids ...string) {
	type open struct{ id, callID, text string }
	var calls []open
	message := "assistant:"
	for _, id := range ids {
		h.n++
		text := fmt.Sprintf("call %d", h.n)
		a := &event.Action{
			ToolName: "t", ToolCallID: id, LLMResponseID: response, Action: json.RawMessage(`{"kind":"T"}`),
			ToolCall: event.ToolCall{ID: id, Name: "t", Arguments: text},
		}
		if id[0] == '!' {
			a.Action = nil
		}
		eventID := h.add(event.SourceAgent, a)
		message += text + ";"
		if id[0] == '!' {
			h.add(event.SourceAgent, &event.AgentError{ToolCallID: id, Error: text})
			continue
		}
		calls = append(calls, open{eventID, id, text})
	}
	for _, c := range calls {
		if c.callID[0] == '?' {
			h.add(event.SourceAgent, &event.AgentError{ToolCallID: c.callID, Error: c.text})
			continue
		}
		o := &event.Observation{ToolCallID: c.callID, Observation: json.RawMessage(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, c.text))}
		if named {
			o.ActionID = c.id
		}
		h.add(event.SourceEnvironment, o)
	}
	h.want = append(h.want, message)
}

// told is a history as calls, after checking that each has its own result.
func told(t interface{ Fatalf(string, ...any) }, ms []event.LLMMessage) []string {
	var out []string
	for i, m := range ms {
		if m.Role != "assistant" {
			continue
		}
		text := "assistant:"
		for k, c := range m.ToolCalls {
			text += c.Arguments + ";"
			if r := ms[i+1+k]; r.ToolCallID != c.ID || r.Content[0].Text != c.Arguments {
				t.Fatalf("the result of %s is %s", c.Arguments, r.Content[0].Text)
			}
		}
		out = append(out, text)
	}
	return out
}

func TestCallsWithRepeatedIDsKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*turns){
		"the same call id in three answers": func(h *turns) {
			for i := range 3 {
				h.answer(fmt.Sprint("r", i), true, "0")
			}
		},
		"three calls of one answer with one id":             func(h *turns) { h.answer("r", true, "0", "0", "0") },
		"the same without ids of actions":                   func(h *turns) { h.answer("r", false, "0", "0", "0") },
		"failing calls of one answer with one id":           func(h *turns) { h.answer("r", false, "?", "?", "?") },
		"answers with one response id":                      func(h *turns) { h.answer("r", true, "a"); h.answer("r", true, "b", "c"); h.answer("r", true, "d") },
		"a failed call and another answer with one id":      func(h *turns) { h.answer("r", true, "?"); h.answer("r", true, "?") },
		"a refused call in the middle of its answer":        func(h *turns) { h.answer("r", true, "a", "!", "a") },
		"refused calls of one answer with one call id":      func(h *turns) { h.answer("r", true, "!", "!", "0") },
		"repeated ids, and a call that was left unanswered": func(h *turns) { h.answer("r", true, "0"); h.answer("s", true, "0", "1"); h.answer("r", true, "0") },
	} {
		h := &turns{}
		script(h)
		if diff := cmp.Diff(h.want, told(t, view.New(nil, h.log).Messages())); diff != "" {
			t.Errorf("%s (-want +told):\n%s", name, diff)
		}
	}
}

func TestEveryCallIsToldInItsPlaceWhateverTheIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &turns{}
		ids := rapid.SampledFrom([]string{"0", "1", "?0", "?1"})
		for range rapid.IntRange(1, 12).Draw(t, "answers") {
			if rapid.Bool().Draw(t, "message") {
				h.add(event.SourceUser, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: []event.Content{event.Text("u")}}})
			}
			response := rapid.SampledFrom([]string{"r", "s"}).Draw(t, "response")
			h.answer(response, rapid.Bool().Draw(t, "named"), rapid.SliceOfN(ids, 1, 3).Draw(t, "calls")...)
		}
		v := view.New(nil, h.log)
		ms := v.Messages()
		check(t, ms)
		if diff := cmp.Diff(h.want, told(t, ms)); diff != "" {
			t.Fatalf("(-want +told):\n%s", diff)
		}
	})
}

func TestForgottenAnswerTakesNoOtherWithItsIDs(t *testing.T) {
	t.Parallel()
	h := &turns{}
	h.add(event.SourceUser, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: []event.Content{event.Text("u")}}})
	for range 3 {
		h.answer("r", true, "0")
	}
	v := view.New(nil, h.log)
	if diff := cmp.Diff([]int{0, 1, 3, 5, 7}, v.Cuts()); diff != "" {
		t.Errorf("cuts (-want +got):\n%s", diff)
	}
	v.Append(forget("c", 1, v.Event(1).ID, v.Event(2).ID))
	if diff := cmp.Diff(h.want[1:], told(t, v.Messages())); diff != "" {
		t.Errorf("(-want +told):\n%s", diff)
	}
}

func TestThinkingLoopCanBeCutBeforeAnAnswerWithThinking(t *testing.T) {
	t.Parallel()
	v := view.New(nil, []event.Event{
		user("u", "hi"), thinking("a", "1"), result("a"), call("b", "2"), result("b"), thinking("c", "3"), result("c"), call("d", "4"), result("d"),
	})
	if diff := cmp.Diff([]int{0, 1, 5, 9}, v.Cuts()); diff != "" {
		t.Errorf("cuts (-want +got):\n%s", diff)
	}
	v.Append(forget("f", 1, "b", "result-b"))
	want := []string{
		"user:hi:Summary of the conversation so far, in place of the events it covers:\n\nsummary f",
		"assistant:thought of 3 +call-c", "tool(call-c):done c", "assistant:thought of 4 +call-d", "tool(call-d):done d",
	}
	if diff := cmp.Diff(want, short(v.Messages())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
