package event_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/event"
)

// recorded are the lines of every recording: frames of a real agent-server,
// and one of each kind that the recordings do not have.
func recorded(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../turn/testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	var lines []string
	for _, name := range append(files, "testdata/kinds.jsonl") {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		scanner := bufio.NewScanner(f)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			lines = append(lines, scanner.Text())
		}
		if err := f.Close(); err != nil || scanner.Err() != nil {
			t.Fatal(err, scanner.Err())
		}
	}
	return lines
}

func decode(t testing.TB, line string) event.Event {
	t.Helper()
	var e event.Event
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatalf("decode %s: %v", line, err)
	}
	return e
}

func TestRecordedEventsSurviveARoundTripByteForByte(t *testing.T) {
	t.Parallel()
	for _, line := range recorded(t) {
		e := decode(t, line)
		got, err := e.MarshalJSON()
		if err != nil || string(got) != line {
			t.Errorf("decoded and encoded (%v):\n%s\nwant\n%s", err, got, line)
		}
		var plain struct{ ID, Timestamp, Source, Kind string }
		if err := json.Unmarshal([]byte(line), &plain); err != nil {
			t.Fatal(err)
		}
		if e.ID != plain.ID || e.Timestamp != plain.Timestamp || e.Source != plain.Source || e.Kind() != plain.Kind {
			t.Errorf("head %q %q %q %q, want %+v", e.ID, e.Timestamp, e.Source, e.Kind(), plain)
		}
	}
}

func TestDecodedEventDoesNotKeepTheCallersBytes(t *testing.T) {
	t.Parallel()
	line := []byte(`{"id":"a","timestamp":"","source":"user","kind":"PauseEvent"}`)
	var e event.Event
	if err := e.UnmarshalJSON(line); err != nil {
		t.Fatal(err)
	}
	copy(line[7:], "b")
	if got, err := e.MarshalJSON(); err != nil || !strings.Contains(string(got), `"a"`) {
		t.Errorf("encoded %s, %v", got, err)
	}
}

func TestEventsSurviveInsideOtherValues(t *testing.T) {
	t.Parallel()
	for _, line := range recorded(t) {
		page := struct{ Items []event.Event }{[]event.Event{decode(t, line)}}
		data, err := json.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Items []any }
		var want any
		if json.Unmarshal(data, &got) != nil || json.Unmarshal([]byte(line), &want) != nil {
			t.Fatalf("not JSON: %s", data)
		}
		if diff := cmp.Diff([]any{want}, got.Items); diff != "" {
			t.Errorf("an event in a page (-want +got):\n%s", diff)
		}
	}
}

func TestUnknownKindIsKept(t *testing.T) {
	t.Parallel()
	e := decode(t, `{"id":"z","timestamp":"t","source":"agent","parent_id":"y","kind":"EventOfTomorrow","x":1}`)
	if _, ok := e.Body.(*event.Unknown); !ok || e.Kind() != "EventOfTomorrow" || e.ParentID != "y" || !e.Persisted() {
		t.Errorf("event %+v", e)
	}
}

func TestWhatIsNoEventIsRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		``, `null`, `1`, `[]`, `{`, `{}`, `{"id":"a"}`, `{"id":1,"kind":"PauseEvent"}`, `{"kind":7}`,
		`{"id":"a","kind":"MessageEvent","llm_message":"hello"}`,
		`{"id":"a","kind":"ActionEvent","thought":"hm"}`,
	} {
		var e event.Event
		if err := e.UnmarshalJSON([]byte(line)); err == nil {
			t.Errorf("%s was taken for %+v", line, e)
		}
	}
	if _, err := json.Marshal(event.Event{}); err == nil {
		t.Error("an event without a body was encoded")
	}
}

// made are new events in the field order of OpenHands itself.
func made() map[string]event.Event {
	text := []event.Content{event.Text("hi")}
	none := []json.RawMessage{}
	piece := "Hel"
	at := func(source, parent string, body event.Body) event.Event {
		return event.New("id", "2026-08-22T16:34:00.123456", source, parent, body)
	}
	return map[string]event.Event{
		`{"id":"id","timestamp":"2026-08-22T16:34:00.123456","source":"user","parent_id":"p","llm_message":{"role":"user","content":[{"cache_prompt":false,"type":"text","text":"hi"}],"thinking_blocks":[]},"activated_skills":[],"extended_content":[],"kind":"MessageEvent"}`: at(
			event.SourceUser, "p", &event.Message{
				LLMMessage: event.LLMMessage{Role: "user", Content: text, ThinkingBlocks: none}, ActivatedSkills: []string{}, ExtendedContent: []event.Content{},
			}),
		`{"id":"id","timestamp":"2026-08-22T16:34:00.123456","source":"agent","thought":[{"cache_prompt":false,"type":"text","text":"hi"}],"thinking_blocks":[],"action":{"command":"ls","kind":"TerminalAction"},"tool_name":"terminal","tool_call_id":"c","tool_call":{"id":"c","name":"terminal","arguments":"{}","origin":"completion"},"llm_response_id":"r","security_risk":"LOW","summary":"list","kind":"ActionEvent"}`: at(
			event.SourceAgent, "", &event.Action{
				Thought: text, ThinkingBlocks: none, Action: json.RawMessage(`{"command":"ls","kind":"TerminalAction"}`),
				ToolName: "terminal", ToolCallID: "c", LLMResponseID: "r", SecurityRisk: "LOW", Summary: "list",
				ToolCall: event.ToolCall{ID: "c", Name: "terminal", Arguments: "{}", Origin: "completion"},
			}),
		`{"id":"id","timestamp":"2026-08-22T16:34:00.123456","source":"environment","tool_name":"terminal","tool_call_id":"c","observation":{"is_error":false},"action_id":"a","extended_content":[],"kind":"ObservationEvent"}`: at(
			event.SourceEnvironment, "", &event.Observation{
				ToolName: "terminal", ToolCallID: "c", ActionID: "a", Observation: json.RawMessage(`{"is_error":false}`), ExtendedContent: []event.Content{},
			}),
		`{"id":"id","timestamp":"2026-08-22T16:34:00.123456","source":"environment","key":"execution_status","value":"running","kind":"ConversationStateUpdateEvent"}`: at(
			event.SourceEnvironment, "", &event.StateUpdate{Key: event.KeyStatus, Value: json.RawMessage(`"running"`)}),
		`{"id":"id","timestamp":"2026-08-22T16:34:00.123456","source":"agent","content":"Hel","kind":"StreamingDeltaEvent"}`: at(
			event.SourceAgent, "", &event.Delta{Content: &piece}),
		`{"id":"id","timestamp":"2026-08-22T16:34:00.123456","source":"user","parent_id":"p","kind":"InterruptEvent"}`: at(
			event.SourceUser, "p", &event.Interrupt{}),
	}
}

func TestNewEventsAreWrittenInOpenHandsOrder(t *testing.T) {
	t.Parallel()
	for want, e := range made() {
		got, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.Kind(), diff)
		}
	}
}

func TestNewEventsAreReadAsTheyWereMade(t *testing.T) {
	t.Parallel()
	for line, want := range made() {
		got := decode(t, line)
		if diff := cmp.Diff(want.Body, got.Body); diff != "" {
			t.Errorf("%s (-made +read):\n%s", want.Kind(), diff)
		}
		if got.ID != want.ID || got.Timestamp != want.Timestamp || got.Source != want.Source || got.ParentID != want.ParentID {
			t.Errorf("%s: head %+v, want %+v", want.Kind(), got, want)
		}
	}
}

func TestOnlyWhatHasAPlaceInTheLogIsPersisted(t *testing.T) {
	t.Parallel()
	published := []string{"StreamingDeltaEvent", "ServerErrorEvent", "full_state"}
	for _, line := range recorded(t) {
		e := decode(t, line)
		name := e.Kind()
		if _, snapshot, _ := e.FullState(); snapshot {
			name = "full_state"
		}
		if got := e.Persisted(); got == slices.Contains(published, name) {
			t.Errorf("%s: Persisted() = %v", name, got)
		}
	}
}

func TestStateIsReadFromASnapshot(t *testing.T) {
	t.Parallel()
	e := decode(t, `{"id":"f","timestamp":"t","source":"environment","key":"full_state","value":{"id":"c","execution_status":"finished",
		"last_user_message_id":null,"leaf_event_id":"l","tags":{"a":"b"},"workspace":{"working_dir":"/w","kind":"LocalWorkspace"},
		"stats":{"usage_to_metrics":{"agent":{"accumulated_cost":0.5,"accumulated_token_usage":{"prompt_tokens":7,"cache_read_tokens":2}},"x":{"accumulated_token_usage":null}}},
		"agent":{"huge":[]}},"kind":"ConversationStateUpdateEvent"}`)
	got, ok, err := e.FullState()
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	want := event.State{
		ID: "c", Status: event.Finished, LeafEventID: "l", Tags: map[string]string{"a": "b"},
		Workspace: event.Workspace{WorkingDir: "/w", Kind: "LocalWorkspace"},
		Stats: event.Stats{UsageToMetrics: map[string]event.Metrics{
			"agent": {AccumulatedCost: 0.5, Usage: &event.TokenUsage{PromptTokens: 7, CacheReadTokens: 2}}, "x": {},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if _, ok := e.StatusUpdate(); ok {
		t.Error("a snapshot is no status update")
	}
	bad := decode(t, `{"id":"f","kind":"ConversationStateUpdateEvent","key":"full_state","value":"?"}`)
	if _, ok, err := bad.FullState(); !ok || err == nil {
		t.Errorf("a snapshot that cannot be read: %v, %v", ok, err)
	}
}

func TestStatusIsReadFromAnUpdate(t *testing.T) {
	t.Parallel()
	update := func(key, value string) event.Event {
		return decode(t, `{"id":"f","kind":"ConversationStateUpdateEvent","key":"`+key+`","value":`+value+`}`)
	}
	if s, ok := update("execution_status", `"stuck"`).StatusUpdate(); !ok || s != event.Stuck {
		t.Errorf("status %q, %v", s, ok)
	}
	for _, e := range []event.Event{update("execution_status", `7`), update("stats", `{}`), {}} {
		if s, ok := e.StatusUpdate(); ok {
			t.Errorf("%s says status %q", e.Kind(), s)
		}
	}
}

func TestContentHasOnlyTheFieldsOfItsType(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]event.Content{
		`{"cache_prompt":false,"type":"text","text":""}`:               event.Text(""),
		`{"cache_prompt":false,"type":"image","image_urls":["u"]}`:     event.Images("u"),
		`{"cache_prompt":true,"type":"text","text":"a \u003cb\u003e"}`: {CachePrompt: true, Type: event.TypeText, Text: "a <b>"},
	} {
		got, err := json.Marshal(c)
		if err != nil || string(got) != want {
			t.Errorf("encoded %s, %v, want %s", got, err, want)
		}
		var back event.Content
		if err := json.Unmarshal(got, &back); err != nil || !cmp.Equal(back, c) {
			t.Errorf("decoded %+v, %v, want %+v", back, err, c)
		}
	}
}

func TestPlainTextIsJoinedAsOpenHandsDoes(t *testing.T) {
	t.Parallel()
	got := event.PlainText([]event.Content{event.Text("a"), event.Images("x", "y"), event.Text("b"), {Type: "new"}})
	if got != "a[Image: 2 URLs]b" {
		t.Errorf("PlainText() = %q", got)
	}
}

// wantHeader compares what was decoded of a header with what the standard
// library finds.
func wantHeader(t *testing.T, data []byte, e event.Event) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatalf("decoded %q, which is not JSON: %v", data, err)
	}
	for name, got := range map[string]string{
		"id": e.ID, "timestamp": e.Timestamp, "source": e.Source, "parent_id": e.ParentID, "kind": e.Kind(),
	} {
		var want string
		if raw, ok := members[name]; ok {
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatalf("%q was decoded with a %s that is no text", data, name)
			}
		}
		if got != want {
			t.Errorf("%q: %s is %q, want %q", data, name, got, want)
		}
	}
}

func TestHeadersAreFoundHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		` { "kind" : "PauseEvent" , "id" : "a" } `,
		`{"id":"a\u00e9\n","kind":"PauseEvent","source":null,"timestamp":"\"}{"}`,
		`{"x":{"id":"no","kind":["no",{"k":"}\""}]},"id":"a","kind":"PauseEvent","y":-1.5e3,"z":[true,null]}`,
		`{"id":"a","id":"b","kind":"PauseEvent"}`,
		`{"k\u0069nd":"PauseEvent","id":"a"}`,
		`{"id":"a","kind":"SomethingNew","x":[{}]}`,
	} {
		var e event.Event
		if err := e.UnmarshalJSON([]byte(src)); err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		wantHeader(t, []byte(src), e)
	}
	for _, src := range []string{
		``, `{`, `[]`, `{}`, `{"kind":5}`, `{"kind":"PauseEvent","id":5}`, `{"kind":"PauseEvent",}`, `{"kind":"New","x":[}`,
		`{"kind":"New"} x`, `{"kind":"PauseEvent"`, `{"kind":"New","x":tru}`, `{"KIND":"PauseEvent"}`, `{"x":"\`,
	} {
		var e event.Event
		if err := e.UnmarshalJSON([]byte(src)); err == nil {
			t.Errorf("%s was decoded as %s", src, e.Kind())
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range recorded(f) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e event.Event
		if err := json.Unmarshal(data, &e); err != nil {
			return
		}
		if e.Kind() == "" || e.Body == nil {
			t.Fatalf("decoded without a kind: %q", data)
		}
		wantHeader(t, data, e)
		_, _, _ = e.FullState()
		_, _ = e.StatusUpdate()
		_ = e.Persisted()
		if out, err := e.MarshalJSON(); err != nil || !bytes.Equal(out, bytes.TrimSpace(data)) {
			t.Fatalf("decoded %q, encoded %q, %v", data, out, err)
		}
		out, err := json.Marshal([]event.Event{e})
		if err != nil {
			t.Fatalf("decoded, but not encoded: %v", err)
		}
		var again []event.Event
		if err := json.Unmarshal(out, &again); err != nil || len(again) != 1 || again[0].Kind() != e.Kind() {
			t.Fatalf("encoded, but not decoded: %v", err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	lines := recorded(b)
	size := 0
	for _, line := range lines {
		size += len(line)
	}
	b.SetBytes(int64(size / len(lines)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		var e event.Event
		if err := json.Unmarshal([]byte(lines[i%len(lines)]), &e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeDelta(b *testing.B) {
	line := []byte(`{"id":"27ab86aa-b9ee-4957-8c1a-5faa053bb598","timestamp":"2026-11-21T08:40:41.170349","source":"agent","content":"hello ","kind":"StreamingDeltaEvent"}`)
	b.ReportAllocs()
	for b.Loop() {
		var e event.Event
		if err := json.Unmarshal(line, &e); err != nil {
			b.Fatal(err)
		}
	}
}

// The target is what an attacker's text has made the agent ask for, and the command
// is pasted into the user's shell.
func TestTheCommandOfABlockIsQuoted(t *testing.T) {
	t.Parallel()
	for allow, want := range map[string]string{
		"net api.example.com":       "ohgw sandbox allow net api.example.com",
		"net *.example.com":         "ohgw sandbox allow net '*.example.com'",
		"write /srv/a b":            "ohgw sandbox allow write '/srv/a b'",
		"write /srv/$(reboot)`id`;": "ohgw sandbox allow write '/srv/$(reboot)`id`;'",
		"read /srv/it's":            `ohgw sandbox allow read '/srv/it'\''s'`,
		"read /srv/a\nreboot":       "",
		"read /srv/\u202ea":         "",
		"":                          "",
		"net":                       "",
	} {
		if got := (event.Block{Allow: allow}).Command(); got != want {
			t.Errorf("%q: Command = %q, want %q", allow, got, want)
		}
	}
}
