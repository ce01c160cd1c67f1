package view_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

// The builders of events: short names, because the tests are tables of them.

func ev(id string, b event.Body) event.Event { return event.New(id, "", "", "", b) }

func user(id, text string) event.Event {
	return ev(id, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: []event.Content{event.Text(text)}}})
}

func agent(id, text string) event.Event {
	return ev(id, &event.Message{LLMMessage: event.LLMMessage{Role: "assistant", Content: []event.Content{event.Text(text)}}})
}

func call(id, answer string) event.Event {
	return ev(id, &event.Action{
		Thought: []event.Content{event.Text("thought of " + answer)}, ToolName: "t", ToolCallID: "call-" + id,
		ToolCall: event.ToolCall{ID: "call-" + id, Name: "t", Arguments: "{}"}, LLMResponseID: answer,
	})
}

func thinking(id, answer string) event.Event {
	e := call(id, answer)
	e.Body.(*event.Action).ThinkingBlocks = []json.RawMessage{json.RawMessage(`{"type":"thinking","signature":"s"}`)}
	return e
}

func result(of string) event.Event {
	return ev("result-"+of, &event.Observation{ToolName: "t", ToolCallID: "call-" + of, Observation: json.RawMessage(`{"content":[{"type":"text","text":"done ` + of + `"}]}`)})
}

func failure(of string) event.Event {
	return ev("error-"+of, &event.AgentError{ToolName: "t", ToolCallID: "call-" + of, Error: "bad " + of})
}

func forget(id string, at int, ids ...string) event.Event {
	summary := "summary " + id
	return ev(id, &event.Condensation{ForgottenEventIDs: ids, Summary: &summary, SummaryOffset: &at})
}

func prompt() event.Event {
	dynamic := event.Text("today")
	return ev("sp", &event.SystemPrompt{SystemPrompt: event.Text("you are"), DynamicContext: &dynamic})
}

// short writes a history as "system user:… assistant(call-a,call-b) tool(call-a):…".
func short(ms []event.LLMMessage) []string {
	out := make([]string, 0, len(ms))
	for _, m := range ms {
		var s strings.Builder
		s.WriteString(m.Role)
		if m.ToolCallID != "" {
			s.WriteString("(" + m.ToolCallID + ")")
		}
		for _, c := range m.Content {
			s.WriteString(":" + c.Text)
		}
		for _, c := range m.ToolCalls {
			s.WriteString(" +" + c.ID)
		}
		out = append(out, s.String())
	}
	return out
}

func TestMessages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		events []event.Event
		want   []string
	}{
		{
			"a plain turn",
			[]event.Event{prompt(), user("u", "hi"), agent("m", "hello")},
			[]string{"system:you are:today", "user:hi", "assistant:hello"},
		},
		{
			"a batch of two calls, results in the wrong order",
			[]event.Event{user("u", "hi"), call("a", "1"), call("b", "1"), result("b"), result("a")},
			[]string{"user:hi", "assistant:thought of 1 +call-a +call-b", "tool(call-a):done a", "tool(call-b):done b"},
		},
		{
			"an error that is logged in the middle of its batch",
			[]event.Event{user("u", "hi"), call("a", "1"), call("b", "1"), failure("b"), call("c", "1"), result("a"), result("c")},
			[]string{
				"user:hi", "assistant:thought of 1 +call-a +call-b +call-c",
				"tool(call-a):done a", "tool(call-b):bad b", "tool(call-c):done c",
			},
		},
		{
			"a person speaks between a call and its result",
			[]event.Event{user("u", "hi"), call("a", "1"), user("v", "and"), result("a")},
			[]string{"user:hi", "assistant:thought of 1 +call-a", "tool(call-a):done a", "user:and"},
		},
		{
			"a call without a result, as after a crash",
			[]event.Event{user("u", "hi"), call("a", "1"), call("b", "1"), result("b"), user("v", "again")},
			[]string{"user:hi", "assistant:thought of 1 +call-b", "tool(call-b):done b", "user:again"},
		},
		{
			"a late result after a synthetic error: the first one counts",
			[]event.Event{user("u", "hi"), call("a", "1"), failure("a"), result("a")},
			[]string{"user:hi", "assistant:thought of 1 +call-a", "tool(call-a):bad a"},
		},
		{
			"a result without a call",
			[]event.Event{user("u", "hi"), result("x"), agent("m", "ok")},
			[]string{"user:hi", "assistant:ok"},
		},
		{
			"messages of the user in a row are one",
			[]event.Event{user("u", "a"), user("v", "b"), agent("m", " "), user("w", "c")},
			[]string{"user:a:b:c"},
		},
		{
			"a rejected call says why",
			[]event.Event{
				user("u", "hi"), call("a", "1"),
				ev("r", &event.UserReject{ToolCallID: "call-a", RejectionReason: "no"}),
			},
			[]string{"user:hi", "assistant:thought of 1 +call-a", "tool(call-a):This action was rejected and did not run. Reason: no"},
		},
		{
			"an observation without output is not empty",
			[]event.Event{user("u", "hi"), call("a", "1"), ev("o", &event.Observation{ToolCallID: "call-a", Observation: json.RawMessage(`{"content":[]}`)})},
			[]string{"user:hi", "assistant:thought of 1 +call-a", "tool(call-a):(no output)"},
		},
		{
			"a condensation puts its summary where the events were",
			[]event.Event{
				prompt(), user("u", "hi"), call("a", "1"), result("a"), call("b", "2"), result("b"),
				forget("c", 2, "a", "result-a"),
			},
			[]string{
				"system:you are:today", "user:hi:Summary of the conversation so far, in place of the events it covers:\n\nsummary c",
				"assistant:thought of 2 +call-b", "tool(call-b):done b",
			},
		},
		{
			"a cut through a batch takes the whole batch",
			[]event.Event{user("u", "hi"), call("a", "1"), call("b", "1"), result("a"), result("b"), forget("c", 1, "a")},
			[]string{"user:hi:Summary of the conversation so far, in place of the events it covers:\n\nsummary c"},
		},
		{
			"a later condensation can forget an earlier summary",
			[]event.Event{user("u", "hi"), agent("m", "x"), forget("c", 1, "m"), forget("d", 1, "c-summary")},
			[]string{"user:hi:Summary of the conversation so far, in place of the events it covers:\n\nsummary d"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, short(view.New(nil, tt.events).Messages())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFailedObservationIsMarked(t *testing.T) {
	t.Parallel()
	v := view.New(nil, []event.Event{call("a", "1"), ev("o", &event.Observation{
		ToolCallID: "call-a", Observation: json.RawMessage(`{"content":[{"type":"text","text":"no"}],"is_error":true}`),
	})})
	got := short(v.Messages())
	if want := "tool(call-a):The tool reported an error::no"; got[1] != want {
		t.Errorf("got %q, want %q", got[1], want)
	}
}

func TestRenderDecidesWhatTheModelSees(t *testing.T) {
	t.Parallel()
	rendered := 0
	v := view.New(func(observation json.RawMessage) ([]event.Content, bool) {
		rendered++
		return []event.Content{event.Text(fmt.Sprintf("rendered %d bytes", len(observation)))}, false
	}, []event.Event{call("a", "1"), result("a")})
	v.Messages()
	got := short(v.Messages())
	if rendered != 1 {
		t.Errorf("the observation was rendered %d times for two requests", rendered)
	}
	if want := "tool(call-a):rendered 45 bytes"; got[1] != want {
		t.Errorf("got %q, want %q", got[1], want)
	}
}

func TestThinkingLoopIsForgottenAsAWhole(t *testing.T) {
	t.Parallel()
	v := view.New(nil, []event.Event{
		user("u", "hi"), thinking("a", "1"), result("a"), call("b", "2"), result("b"), user("v", "x"), call("c", "3"), result("c"),
		forget("f", 1, "b", "result-b"),
	})
	for _, e := range events(v) {
		if e.ID == "a" || e.ID == "result-a" {
			t.Errorf("%s of a torn loop is still there", e.ID)
		}
	}
}

func events(v *view.View) []event.Event {
	all := make([]event.Event, v.Len())
	for i := range all {
		all[i] = v.Event(i)
	}
	return all
}

func TestCuts(t *testing.T) {
	t.Parallel()
	v := view.New(nil, []event.Event{
		user("u", "hi"), call("a", "1"), call("b", "1"), result("a"), result("b"), call("c", "2"), result("c"), agent("m", "x"),
	})
	if diff := cmp.Diff([]int{0, 1, 5, 7, 8}, v.Cuts()); diff != "" {
		t.Error(diff)
	}
}

func TestCondensationRequestIsOpenUntilItsCondensation(t *testing.T) {
	t.Parallel()
	v := view.New(nil, []event.Event{user("u", "hi"), ev("r", &event.CondensationRequest{})})
	if !v.CondensationWanted() {
		t.Error("the request was not seen")
	}
	v.Append(forget("c", 1))
	if v.CondensationWanted() {
		t.Error("the request is still open")
	}
}

// anyLog draws a log that no program would write: every order, duplicates, gaps.
func anyLog(t *rapid.T) []event.Event {
	var log []event.Event
	n := rapid.IntRange(0, 40).Draw(t, "events")
	for i := range n {
		id := strconv.Itoa(i)
		ref := strconv.Itoa(rapid.IntRange(0, n).Draw(t, "ref"))
		answer := "answer" + strconv.Itoa(rapid.IntRange(0, 5).Draw(t, "answer"))
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			log = append(log, user(id, "u"))
		case 1:
			log = append(log, agent(id, rapid.SampledFrom([]string{"", " ", "m"}).Draw(t, "text")))
		case 2, 3:
			log = append(log, call(id, answer))
		case 4:
			log = append(log, thinking(id, answer))
		case 5:
			log = append(log, call(ref, answer)) // a call id twice
		case 6:
			log = append(log, result(ref))
		case 7:
			log = append(log, failure(ref))
		case 8:
			log = append(log, prompt())
		case 9:
			log = append(log, forget(id, rapid.IntRange(-1, 50).Draw(t, "at"), ref, "result-"+ref))
		}
	}
	return log
}

// check fails if a provider would refuse the history.
func check(t *rapid.T, ms []event.LLMMessage) {
	seen := make(map[string]bool)
	for i := 0; i < len(ms); i++ {
		m := ms[i]
		switch m.Role {
		case "system":
			if i != 0 {
				t.Fatalf("system message at %d: %q", i, short(ms))
			}
		case "user":
			if len(m.Content) == 0 || i > 0 && ms[i-1].Role == "user" {
				t.Fatalf("user message at %d is empty or follows another: %q", i, short(ms))
			}
		case "assistant":
			if len(m.Content) == 0 && len(m.ToolCalls) == 0 {
				t.Fatalf("empty assistant message at %d: %q", i, short(ms))
			}
			for _, c := range m.ToolCalls {
				i++
				if seen[c.ID] || i >= len(ms) || ms[i].Role != "tool" || ms[i].ToolCallID != c.ID || len(ms[i].Content) == 0 {
					t.Fatalf("call %s has no result of its own behind it: %q", c.ID, short(ms))
				}
				seen[c.ID] = true
			}
		default:
			t.Fatalf("%s at %d: %q", m.Role, i, short(ms))
		}
	}
}

func everyLog(t *rapid.T) { check(t, view.New(nil, anyLog(t)).Messages()) }

func TestEveryLogYieldsAHistoryThatProvidersAccept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, everyLog)
}

func FuzzEveryLogYieldsAHistoryThatProvidersAccept(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(everyLog))
}

func TestEveryCutYieldsAHistoryThatProvidersAccept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := view.New(nil, anyLog(t))
		cuts := v.Cuts()
		from := rapid.SampledFrom(cuts).Draw(t, "from")
		to := rapid.SampledFrom(cuts).Draw(t, "to")
		var ids []string
		for i := from; i < to; i++ {
			ids = append(ids, v.Event(i).ID)
		}
		before := v.Len()
		unique := make(map[string]bool)
		for _, e := range events(v) {
			unique[e.ID] = true
		}
		v.Append(forget("last", from, ids...))
		check(t, v.Messages())
		if lost := before - (v.Len() - 1); len(unique) == before && lost > max(0, to-from) {
			t.Fatalf("a legal cut of %d events took %d", to-from, lost)
		}
	})
}

// TestViewKeepsNoMoreThanTheModelIsShown has an edit store both contents of its
// file.
func TestViewKeepsNoMoreThanTheModelIsShown(t *testing.T) {
	t.Parallel()
	v := view.New(nil, nil)
	var stored []weak.Pointer[byte]
	for i := range 3 {
		o := json.RawMessage(`{"content":[{"type":"text","text":"edited"}],"old_content":"` + strings.Repeat("x", 1<<20) + `"}`)
		a := json.RawMessage(`{"file_text":"` + strings.Repeat("x", 1<<20) + `"}`)
		stored = append(stored, weak.Make(&o[0]), weak.Make(&a[0]))
		e := call(strconv.Itoa(i), strconv.Itoa(i))
		e.Body.(*event.Action).Action = a
		w := v.Append(e)
		w.Bytes += v.Append(ev("o", &event.Observation{ToolCallID: "call-" + strconv.Itoa(i), Observation: o})).Bytes
		if w.Bytes > 100 {
			t.Errorf("an edit weighs %+v", w)
		}
	}
	runtime.GC()
	for i, p := range stored {
		if p.Value() != nil {
			t.Errorf("part %d of the log is still in memory", i)
		}
	}
	runtime.KeepAlive(v)
}
