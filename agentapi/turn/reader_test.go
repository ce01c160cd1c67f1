package turn_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// recording is what a real agent-server sent on a socket.
func recording(t testing.TB, name string) []event.Event {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var events []event.Event
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var e event.Event
		if err := json.Unmarshal(scanner.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

// shown is what a reader gives to show.
type shown struct {
	text     string
	progress []string
}

func (s *shown) add(updates []turn.Update) {
	for _, u := range updates {
		if u.Kind == turn.Text {
			s.text += u.Text
		} else {
			s.progress = append(s.progress, u.Text)
		}
	}
}

// read passes events to a reader until it is done, and returns the rest.
func read(t testing.TB, r *turn.Reader, events []event.Event) (shown, []event.Event) {
	t.Helper()
	var s shown
	for i, e := range events {
		updates, err := r.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		s.add(updates)
		if r.Done() {
			return s, events[i+1:]
		}
	}
	return s, nil
}

func TestRecordedTurnsAreRead(t *testing.T) {
	t.Parallel()
	finish := "result is hi\n[The command completed with exit code 0.]\n[Current working directory: /srv/project/tool]\n[Command finished with exit code 0]"
	tests := []struct {
		recording string
		want      turn.Result
		shown     shown
		done      bool
	}{
		{"text-two-turns", turn.Result{Answer: "hello there friend"}, shown{text: "hello there friend"}, true},
		{"tool-then-finish", turn.Result{Answer: finish, Actions: 1}, shown{text: finish, progress: []string{"$ echo hi"}}, true},
		{"interrupt-llm-call", turn.Result{Outcome: turn.Interrupted}, shown{}, true},
		{"interrupt-tool", turn.Result{Outcome: turn.Interrupted, Actions: 1}, shown{progress: []string{"$ sleep 30"}}, true},
		{"llm-401", turn.Result{Outcome: turn.Failed, Cause: &turn.Cause{
			Kind: turn.CauseLLM, Code: "LLMAuthenticationError",
			Detail: "litellm.AuthenticationError: AuthenticationError: OpenAIException - scripted 401",
		}}, shown{}, true},
		{"llm-500", turn.Result{}, shown{}, false}, // still going on when the recording ends
		{"confirm-accept", turn.Result{
			Outcome: turn.Waiting, Actions: 1, Waiting: []turn.Action{{Tool: "terminal", Line: "$ echo hi"}},
		}, shown{progress: []string{"$ echo hi"}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.recording, func(t *testing.T) {
			t.Parallel()
			r := turn.NewReader(nil)
			got, _ := read(t, r, recording(t, tt.recording))
			result := r.Result()
			if r.Done() && result.Last == "" {
				t.Error("the last event is not known")
			}
			result.Last = "" // it is another in each recording
			if diff := cmp.Diff(tt.want, result); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.shown, got, cmp.AllowUnexported(shown{})); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			if r.Done() != tt.done {
				t.Errorf("Done() = %v", r.Done())
			}
		})
	}
}

func TestSecondTurnHoldsNothingOfTheFirst(t *testing.T) {
	t.Parallel()
	first := turn.NewReader(nil)
	_, rest := read(t, first, recording(t, "text-two-turns"))
	second := turn.NewReader(nil)
	got, rest := read(t, second, rest)
	if second.Result().Answer != "second" || got.text != "second" || !second.Done() || len(rest) != 0 {
		t.Errorf("result %+v, text %q, %d events left", second.Result(), got.text, len(rest))
	}
}

func TestAcceptedTurnBeginsWithoutAMessage(t *testing.T) {
	t.Parallel()
	first := turn.NewReader(nil)
	_, rest := read(t, first, recording(t, "confirm-accept"))
	second := turn.NewReader(nil)
	second.Begin()
	got, _ := read(t, second, rest)
	if res := second.Result(); res.Answer != "ok" || res.Actions != 0 || got.text != "ok" || !second.Done() {
		t.Errorf("result %+v, text %q", res, got.text)
	}
}

// log makes events.
type log struct{ n atomic.Int64 }

func (l *log) event(source string, body event.Body) event.Event {
	return event.New(fmt.Sprintf("e%d", l.n.Add(1)), "", source, "", body)
}

func (l *log) user(text string) event.Event {
	return l.event(event.SourceUser, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: []event.Content{event.Text(text)}}})
}

func (l *log) status(s event.Status) event.Event {
	return l.event(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyStatus, Value: encoded(s)})
}

func (l *log) snapshot(s event.State) event.Event {
	return l.event(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyFullState, Value: encoded(s)})
}

func (l *log) delta(text string) event.Event {
	return l.event(event.SourceAgent, &event.Delta{Content: &text})
}

func (l *log) message(text string) event.Event {
	return l.event(event.SourceAgent, &event.Message{LLMMessage: event.LLMMessage{Role: "assistant", Content: []event.Content{event.Text(text)}}})
}

func (l *log) action(thought, tool, args string) event.Event {
	a := &event.Action{Thought: []event.Content{event.Text(thought)}, ToolName: tool, ToolCallID: fmt.Sprintf("c%d", l.n.Load()), Action: json.RawMessage(args)}
	a.ToolCall.Arguments = args
	return l.event(event.SourceAgent, a)
}

func (l *log) result(of event.Event) event.Event {
	a, _ := of.Body.(*event.Action)
	return l.event(event.SourceEnvironment, &event.Observation{ToolName: a.ToolName, ToolCallID: a.ToolCallID})
}

func encoded(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// began is a reader whose turn has begun and runs.
func began(t testing.TB, l *log) *turn.Reader {
	t.Helper()
	r := turn.NewReader(nil)
	read(t, r, []event.Event{l.snapshot(event.State{Status: event.Idle}), l.user("go"), l.status(event.Running)})
	return r
}

func TestAnswerIsTheFinishMessageElseTheLastText(t *testing.T) {
	t.Parallel()
	finish := func(message string) string {
		return string(encoded(map[string]string{"message": message, "kind": "FinishAction"}))
	}
	tests := []struct {
		name   string
		events func(*log) []event.Event
		answer string
	}{
		{"finish", func(l *log) []event.Event {
			return []event.Event{l.message("one"), l.action("", "finish", finish("two"))}
		}, "two"},
		{"finish that says nothing falls back on its thought", func(l *log) []event.Event {
			return []event.Event{l.message("one"), l.action("I am done.", "finish", finish(" "))}
		}, "I am done."},
		{"finish that says nothing at all keeps the last text", func(l *log) []event.Event {
			return []event.Event{l.message("one"), l.action("", "finish", finish(""))}
		}, "one"},
		{"finish that was not understood is no finish", func(l *log) []event.Event {
			return []event.Event{l.message("one"), l.action("", "finish", "null")}
		}, "one"},
		{"last text", func(l *log) []event.Event { return []event.Event{l.message("one"), l.message("two")} }, "two"},
		{"white space is no text", func(l *log) []event.Event { return []event.Event{l.message("one"), l.message(" \n")} }, "one"},
		{"a thought is no answer", func(l *log) []event.Event {
			return []event.Event{l.action("I will look.", "terminal", `{"command":"ls"}`)}
		}, ""},
		{"a nudge of the environment is no answer", func(l *log) []event.Event {
			return []event.Event{l.message("one"), l.event(event.SourceEnvironment, &event.Message{
				LLMMessage: event.LLMMessage{Role: "user", Content: []event.Content{event.Text("go on")}},
			})}
		}, "one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := &log{}
			r := began(t, l)
			read(t, r, tt.events(l))
			if got := r.Result().Answer; got != tt.answer {
				t.Errorf("answer %q, want %q", got, tt.answer)
			}
		})
	}
}

func TestOnlyAClosingSnapshotEndsATurn(t *testing.T) {
	t.Parallel()
	l := &log{}
	r := turn.NewReader(nil)
	for _, e := range []event.Event{
		l.snapshot(event.State{Status: event.Finished}), // of the turn before
		l.user("go"),
		l.status(event.Idle),
		l.snapshot(event.State{Status: event.Idle}), // of a reconnect
		l.status(event.Running),
		l.message("one"),
		l.status(event.Finished), // a hook says no
		l.status(event.Running),
		l.snapshot(event.State{Status: event.Running}), // of a reconnect
		l.message("two"),
		l.status(event.Finished),
	} {
		if _, err := r.Add(e); err != nil {
			t.Fatal(err)
		}
		if r.Done() {
			t.Fatalf("the turn is over with %s", e.Kind())
		}
	}
	read(t, r, []event.Event{l.snapshot(event.State{Status: event.Finished})})
	if !r.Done() || r.Result().Answer != "two" {
		t.Errorf("done %v, result %+v", r.Done(), r.Result())
	}
	if updates, err := r.Add(l.message("late")); err != nil || updates != nil || r.Result().Answer != "two" {
		t.Error("an event after the end counts")
	}
}

func TestUsageIsTheDifference(t *testing.T) {
	t.Parallel()
	stats := func(n int64) event.Stats {
		return event.Stats{UsageToMetrics: map[string]event.Metrics{
			"agent":     {AccumulatedCost: float64(n), Usage: &event.TokenUsage{PromptTokens: 10 * n, CompletionTokens: n, CacheReadTokens: 2 * n, CacheWriteTokens: 3 * n, ReasoningTokens: 4 * n}},
			"condenser": {AccumulatedCost: float64(n), Usage: &event.TokenUsage{PromptTokens: n}},
			"unknown":   {},
		}}
	}
	l := &log{}
	r := turn.NewReader(nil)
	read(t, r, []event.Event{l.snapshot(event.State{Status: event.Idle, Stats: stats(5)}), l.user("go"), l.status(event.Running)})
	if got := r.Result().Usage; got != (turn.Usage{}) {
		t.Errorf("usage before anything is known: %+v", got)
	}
	read(t, r, []event.Event{l.snapshot(event.State{Status: event.Finished, Stats: stats(7)})})
	want := turn.Usage{PromptTokens: 22, CompletionTokens: 2, CachedTokens: 4, CacheWriteTokens: 6, ReasoningTokens: 8, Cost: 4}
	if diff := cmp.Diff(want, r.Result().Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	shrunk := turn.NewReader(&turn.Baseline{Usage: turn.Usage{PromptTokens: 1000, Cost: 1000}})
	read(t, shrunk, []event.Event{l.user("go"), l.status(event.Running), l.snapshot(event.State{Status: event.Finished, Stats: stats(1)})})
	if got := shrunk.Result().Usage; got.PromptTokens != 0 || got.Cost != 0 || got.CompletionTokens != 1 {
		t.Errorf("usage of statistics that were reset: %+v", got)
	}
}

func TestBaselineIsWhereTheTurnStarts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		state event.State
		after string
	}{
		{event.State{LeafEventID: "leaf", LastUserMessageID: "user"}, "leaf"},
		{event.State{LastUserMessageID: "user"}, "user"}, // before 1.31
		{event.State{}, agentapi.FromStart},
	} {
		l := &log{}
		r := turn.NewReader(nil)
		read(t, r, []event.Event{l.snapshot(tt.state)})
		if got := r.Baseline().After; got != tt.after {
			t.Errorf("a turn after %+v starts after %q, want %q", tt.state, got, tt.after)
		}
	}
	given := turn.Baseline{After: "x", Usage: turn.Usage{PromptTokens: 7}}
	l := &log{}
	r := turn.NewReader(&given)
	read(t, r, []event.Event{l.snapshot(event.State{LeafEventID: "leaf"})})
	if r.Baseline() != given {
		t.Errorf("a given baseline became %+v", r.Baseline())
	}
}

func TestFailuresHaveACause(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		body *event.ConversationError
		want turn.Cause
	}{
		{"a limit", &event.ConversationError{Code: "MaxIterationsReached", Detail: "500 steps"}, turn.Cause{Kind: turn.CauseAgent, Code: "MaxIterationsReached", Detail: "500 steps"}},
		{
			"a provider", &event.ConversationError{Code: "LLMTimeoutError", Detail: "slow", Classification: &event.Classification{Kind: "transient", Retryable: true}},
			turn.Cause{Kind: turn.CauseLLM, Code: "LLMTimeoutError", Detail: "slow", Retryable: true},
		},
		{
			"a model that does not exist", &event.ConversationError{Code: "NotFoundError", Detail: "no model", Classification: &event.Classification{Kind: "config"}},
			turn.Cause{Kind: turn.CauseLLM, Code: "NotFoundError", Detail: "no model"},
		},
		{
			"a quota under another name", &event.ConversationError{Code: "Whatever", Classification: &event.Classification{Kind: "quota"}},
			turn.Cause{Kind: turn.CauseLLM, Code: "Whatever"},
		},
		{
			"a provider, as old servers tell it", &event.ConversationError{Code: "AuthenticationError", Detail: "litellm.AuthenticationError: no"},
			turn.Cause{Kind: turn.CauseLLM, Code: "AuthenticationError", Detail: "litellm.AuthenticationError: no"},
		},
		{
			"a key in the detail", &event.ConversationError{Code: "LLMAuthenticationError", Detail: "Incorrect API key provided: sk-proj-abcdefghijklmnop"},
			turn.Cause{Kind: turn.CauseLLM, Code: "LLMAuthenticationError", Detail: "Incorrect API key provided: [redacted]"},
		},
		{"a server that went away", nil, turn.Cause{Kind: turn.CauseLost, Detail: "the server that ran the agent was restarted during the run"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := &log{}
			r := began(t, l)
			events := []event.Event{l.message("so far"), l.status(event.Failed)}
			if tt.body != nil {
				events = append(events, l.event(event.SourceEnvironment, tt.body))
			}
			read(t, r, append(events, l.snapshot(event.State{Status: event.Failed})))
			want := turn.Result{Outcome: turn.Failed, Answer: "so far", Cause: &tt.want}
			if diff := cmp.Diff(want, r.Result()); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorThatDidNotEndTheRunIsNoCause(t *testing.T) {
	t.Parallel()
	l := &log{}
	r := began(t, l)
	read(t, r, []event.Event{
		l.event(event.SourceEnvironment, &event.ConversationError{Code: "LLMError", Detail: "no title"}),
		l.message("fine"), l.snapshot(event.State{Status: event.Finished}),
	})
	if res := r.Result(); res.Outcome != turn.Finished || res.Cause != nil {
		t.Errorf("result %+v", res)
	}
}

func TestOutcomeFollowsTheStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[event.Status]turn.Outcome{
		event.Finished: turn.Finished, event.Stuck: turn.Stuck, event.Paused: turn.Paused,
		event.Waiting: turn.Waiting, event.Failed: turn.Failed,
	} {
		l := &log{}
		r := began(t, l)
		read(t, r, []event.Event{l.status(status), l.snapshot(event.State{Status: status})})
		if got := r.Result().Outcome; got != want || !r.Done() {
			t.Errorf("status %q: outcome %v, done %v", status, got, r.Done())
		}
	}
}

func TestOnlyOpenActionsWait(t *testing.T) {
	t.Parallel()
	l := &log{}
	r := began(t, l)
	first, second, third := l.action("", "terminal", `{"command":"one"}`), l.action("", "terminal", `{"command":"two"}`), l.action("", "file_editor", `{"command":"create","path":"/a/../b"}`)
	read(t, r, []event.Event{first, l.result(first), second, third, l.status(event.Waiting), l.snapshot(event.State{Status: event.Waiting})})
	want := []turn.Action{
		{Tool: "terminal", Line: "$ two"},
		{Tool: "file_editor", Line: "Create /b", Detail: "{\n  \"command\": \"create\",\n  \"path\": \"/a/../b\"\n}"},
	}
	if diff := cmp.Diff(want, r.Result().Waiting); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
}

func TestWhatWaitsIsShownToItsEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300) + " && rm -rf ~"
	tests := []struct{ tool, args, want string }{
		{"terminal", `{"command":"ls -l"}`, ""},
		{"terminal", `{"command":"` + long + `"}`, long},
		{"terminal", `{"command":"ls\nrm -rf ~"}`, "ls\nrm -rf ~"},
		{"terminal", `{"command":"ls\u001b[2K\rnice"}`, `ls\u001b[2K\u000dnice`},
		{"terminal", `{"command":"ls\u202e"}`, `ls\u202e`},
		{"terminal", `{"command":"a\nexport OPENAI_API_KEY=abcdef123456"}`, "a\nexport OPENAI_API_KEY=[redacted]"},
		{"file_editor", `{"command":"create","path":"/w/a","file_text":"b"}`, "{\n  \"command\": \"create\",\n  \"path\": \"/w/a\",\n  \"file_text\": \"b\"\n}"},
		{"browser", `not JSON`, "not JSON"},
		{"terminal", `{"command":"` + strings.Repeat("y", 70_000) + `"}`, strings.Repeat("y", 65_536) + "\n… 4464 more bytes are not shown"},
	}
	for _, tt := range tests {
		l := &log{}
		r := began(t, l)
		_, _ = read(t, r, []event.Event{l.action("", tt.tool, tt.args), l.status(event.Waiting)})
		res := r.Result()
		if len(res.Waiting) != 1 || res.Waiting[0].Detail != tt.want {
			t.Errorf("%s %.80s: waiting = %+.300v, want %.300q", tt.tool, tt.args, res.Waiting, tt.want)
		}
	}
}

func TestActionsAreShownInALine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	tests := []struct{ tool, args, summary, want string }{
		{"terminal", `{"command":"ls -l"}`, "", "$ ls -l"},
		{"terminal", `{"command":"C-c","is_input":true}`, "", "> C-c"},
		{"terminal", `{"command":"a\n  b\tc"}`, "", "$ a b c"},
		{"terminal", `{"command":"a\u001b[31mred"}`, "", "$ a [31mred"},
		{"terminal", `{"command":"export OPENAI_API_KEY=abcdef123456"}`, "", "$ export OPENAI_API_KEY=[redacted]"},
		{"terminal", `{"command":"` + long + `"}`, "", "$ " + long[:197] + "…"},
		{"file_editor", `{"command":"view","path":"/w/a.go"}`, "", "View /w/a.go"},
		{"file_editor", `{"command":"str_replace","path":"a.go"}`, "", "Edit a.go"},
		{"file_editor", `{"command":"undo_edit","path":"a.go"}`, "", "Undo the edit of a.go"},
		{"file_editor", `{}`, "", "file_editor"},
		{"think", `{"thought":"hm"}`, "", "Think: hm"},
		{"task_tracker", `{"task_list":[]}`, "", "Plan the work"},
		{"browser", `{"url":"x"}`, "look at x", "browser: look at x"},
		{"browser", `{"url":"x"}`, `browser: {"url": "x"}`, "browser"},
		{"browser", `not JSON`, "", "browser"},
	}
	for _, tt := range tests {
		l := &log{}
		r := began(t, l)
		e := l.action("", tt.tool, tt.args)
		a, _ := e.Body.(*event.Action)
		a.Summary = tt.summary
		got, _ := read(t, r, []event.Event{e})
		if diff := cmp.Diff([]string{tt.want}, got.progress); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.tool, tt.args, diff)
		}
	}
}

func TestSnapshotThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	l := &log{}
	bad := l.event(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyFullState, Value: json.RawMessage(`"?"`)})
	if _, err := turn.NewReader(nil).Add(bad); err == nil {
		t.Error("it was read")
	}
}

func TestAnAnswerIsCutIfItsEventSaysSo(t *testing.T) {
	t.Parallel()
	c := newConversation(event.Idle)
	say := func(source, role, text string, extended []event.Content) event.Event {
		return event.New(text, "", source, "", &event.Message{LLMMessage: event.LLMMessage{Role: role, Content: []event.Content{event.Text(text)}}, ExtendedContent: extended})
	}
	cut := say(event.SourceAgent, "assistant", "The name of", event.CutMark())
	whole := say(event.SourceAgent, "assistant", "The name is France.", nil)
	for name, tt := range map[string]struct {
		said []event.Event
		want bool
	}{
		"cut": {[]event.Event{cut}, true}, "whole": {[]event.Event{whole}, false}, "whole behind a cut one": {[]event.Event{cut, whole}, false},
	} {
		r := turn.NewReader(nil)
		events := []event.Event{c.snapshot(event.State{Status: event.Idle}), say(event.SourceUser, "user", "hi", nil), c.status(event.Running)}
		for _, e := range append(append(events, tt.said...), c.status(event.Finished), c.snapshot(event.State{Status: event.Finished})) {
			if _, err := r.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.Result(); got.Cut != tt.want || got.Outcome != turn.Finished {
			t.Errorf("%s: result = %+v", name, got)
		}
	}
}
