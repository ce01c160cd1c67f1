package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// calls reads a turn with details.
func calls(t testing.TB, events []event.Event) []turn.Call {
	t.Helper()
	r := turn.NewReader(nil)
	r.Details(func() bool { return true })
	var all []turn.Call
	for _, e := range events {
		updates, err := r.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range updates {
			if u.Call != nil {
				all = append(all, *u.Call)
			}
		}
	}
	return all
}

func pointer[T any](v T) *T { return &v }

func TestRecordedCallsAreDescribed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]turn.Call{
		"tool-then-finish": {
			{ID: "11b9d4a3-7f07-4ab1-8204-d86566930581", State: turn.CallRunning, Tool: "terminal", Kind: turn.KindCommand, Line: "$ echo hi", Input: "echo hi"},
			{
				ID: "11b9d4a3-7f07-4ab1-8204-d86566930581", State: turn.CallDone, Tool: "terminal", Kind: turn.KindCommand, Line: "$ echo hi",
				Seconds: pointer(0.399), ExitCode: pointer(0), Output: "hi",
			},
		},
		"interrupt-tool": {
			{ID: "adccf299-411d-4b21-a828-3de73d504233", State: turn.CallRunning, Tool: "terminal", Kind: turn.KindCommand, Line: "$ sleep 30", Input: "sleep 30"},
			{
				ID: "adccf299-411d-4b21-a828-3de73d504233", State: turn.CallInterrupted, Tool: "terminal", Kind: turn.KindCommand, Line: "$ sleep 30",
				Seconds: pointer(2.801), Output: "Tool call interrupted before completion. The conversation was paused.",
			},
		},
	} {
		if diff := cmp.Diff(want, calls(t, recording(t, name))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCallsAreNotDescribedUnlessWanted(t *testing.T) {
	t.Parallel()
	r := turn.NewReader(nil)
	for _, e := range recording(t, "tool-then-finish") {
		updates, err := r.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range updates {
			if u.Call != nil {
				t.Errorf("described: %+v", u.Call)
			}
		}
	}
}

// toolRun is a turn with one call and its result.
func toolRun(t testing.TB, tool, action, observation string) []event.Event {
	t.Helper()
	quoted, err := json.Marshal(action)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{
		`{"id":"s","timestamp":"2026-11-21T08:00:00","source":"environment","key":"full_state","value":{"id":"c","execution_status":"idle"},"kind":"ConversationStateUpdateEvent"}`,
		`{"id":"m","timestamp":"2026-11-21T08:00:00","source":"user","llm_message":{"role":"user","content":[]},"kind":"MessageEvent"}`,
		`{"id":"r","timestamp":"2026-11-21T08:00:00","source":"environment","key":"execution_status","value":"running","kind":"ConversationStateUpdateEvent"}`,
		`{"id":"a","timestamp":"2026-11-21T08:00:00.5","source":"agent","thought":[],"action":` + action + `,"tool_name":"` + tool + `","tool_call_id":"t","tool_call":{"id":"t","name":"` + tool + `","arguments":` + string(quoted) + `},"kind":"ActionEvent"}`,
		`{"id":"o","timestamp":"2026-11-21T08:00:01","source":"environment","tool_name":"` + tool + `","tool_call_id":"t","action_id":"a","observation":` + observation + `,"kind":"ObservationEvent"}`,
	}
	var events []event.Event
	for _, l := range lines {
		var e event.Event
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		events = append(events, e)
	}
	return events
}

func TestWhatFailedIsNotTakenForDone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool, action, observation string
		state                     turn.CallState
		line                      string
	}{
		"done":    {"terminal", `{"command":"true","kind":"TerminalAction"}`, `{"content":[],"exit_code":0,"kind":"TerminalObservation"}`, turn.CallDone, ""},
		"goes on": {"terminal", `{"command":"sleep 99","kind":"TerminalAction"}`, `{"content":[],"exit_code":-1,"kind":"TerminalObservation"}`, turn.CallDone, ""},
		"exit code": {
			"terminal", `{"command":"false","kind":"TerminalAction"}`, `{"content":[],"exit_code":1,"kind":"TerminalObservation"}`,
			turn.CallFailed, "✗ $ false (exit code 1)",
		},
		"exit code in the metadata": {
			"terminal", `{"command":"false","kind":"TerminalAction"}`, `{"content":[],"exit_code":null,"metadata":{"exit_code":3},"kind":"TerminalObservation"}`,
			turn.CallFailed, "✗ $ false (exit code 3)",
		},
		"tool error": {
			"file_editor", `{"command":"view","path":"/x","kind":"FileEditorAction"}`,
			`{"content":[{"type":"text","text":"No such file.\nMore."}],"is_error":true,"path":"/x","kind":"FileEditorObservation"}`,
			turn.CallFailed, "✗ View /x: No such file.",
		},
	} {
		events := toolRun(t, tc.tool, tc.action, tc.observation)
		all := calls(t, events)
		if len(all) != 2 || all[1].State != tc.state || all[1].ID != "a" || *all[1].Seconds != 0.5 {
			t.Errorf("%s: %+v", name, all)
		}
		r := turn.NewReader(nil)
		s, _ := read(t, r, events)
		if got := strings.Join(s.progress[1:], "|"); got != tc.line {
			t.Errorf("%s: %q, want %q", name, got, tc.line)
		}
	}
}

func TestAPlanHasItsTasks(t *testing.T) {
	t.Parallel()
	list := `[{"title":"Read","notes":"all","status":"done"},{"title":"Write","notes":"","status":"in_progress"}]`
	all := calls(t, toolRun(t, "task_tracker", `{"command":"plan","task_list":`+list+`,"kind":"TaskTrackerAction"}`,
		`{"content":[{"type":"text","text":"[x] Read"}],"command":"plan","task_list":`+list+`,"kind":"TaskTrackerObservation"}`))
	want := []turn.Task{{Title: "Read", Notes: "all", Status: "done"}, {Title: "Write", Status: "in_progress"}}
	if diff := cmp.Diff(want, all[1].Tasks); diff != "" || all[1].Kind != turn.KindTasks {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
}

func TestMCPCallsHaveArgumentsAndResult(t *testing.T) {
	t.Parallel()
	all := calls(t, toolRun(t, "weather", `{"data":{"city":"Bern"},"kind":"MCPToolAction"}`,
		`{"content":[{"type":"text","text":"[Tool 'weather' executed.]"},{"type":"text","text":"sunny"}],"is_error":false,"tool_name":"weather","kind":"MCPToolObservation"}`))
	if all[0].Kind != turn.KindMCP || !strings.Contains(all[0].Input, `"city": "Bern"`) || !strings.HasSuffix(all[1].Output, "sunny") || all[1].Kind != turn.KindMCP {
		t.Errorf("%+v", all)
	}
}
