package turn_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
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

// The forms of a real agent-server: an exit code, a new file, an edit, a plan.
func TestRecordedResultsHaveTheirFacts(t *testing.T) {
	t.Parallel()
	var got []string
	for _, c := range calls(t, recording(t, "actions")) {
		if c.State == turn.CallRunning {
			continue
		}
		exit := ""
		if c.ExitCode != nil {
			exit = fmt.Sprint(*c.ExitCode)
		}
		got = append(got, fmt.Sprintf("%s %s %s %q +%d -%d %v", c.Kind, c.State, exit, c.Diff, c.Added, c.Removed, c.Tasks))
	}
	want := []string{
		`command failed 1 "" +0 -0 []`,
		`edit done  "@@ -0,0 +1,2 @@\n+a\n+b\n" +2 -0 []`,
		`edit done  "@@ -1,2 +1,2 @@\n a\n-b\n+c d\n" +1 -1 []`,
		`tasks done  "" +0 -0 [{One  done} {Two  in_progress}]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r := turn.NewReader(nil)
	read(t, r, recording(t, "actions"))
	if got, want := r.Result().Context, (turn.Context{Tokens: 110, Window: 128_000}); got != want {
		t.Errorf("context %+v, want %+v", got, want)
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
			t.Errorf("%s: calls = %+v", name, all)
		}
		r := turn.NewReader(nil)
		s, _ := read(t, r, events)
		if got := strings.Join(s.progress[1:], "|"); got != tc.line {
			t.Errorf("%s: progress = %q, want %q", name, got, tc.line)
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
		t.Errorf("calls = %+v", all)
	}
}

// edited is the second description of an edit.
func edited(t testing.TB, before, after string) turn.Call {
	t.Helper()
	observation, err := json.Marshal(map[string]any{
		"content": []any{}, "command": "str_replace", "path": "/srv/x.go", "old_content": before, "new_content": after, "kind": "FileEditorObservation",
	})
	if err != nil {
		t.Fatal(err)
	}
	return calls(t, toolRun(t, "file_editor", `{"command":"str_replace","path":"/srv/x.go","old_str":"a","new_str":"b","kind":"FileEditorAction"}`, string(observation)))[1]
}

func TestAnEditHasItsDiff(t *testing.T) {
	t.Parallel()
	c := edited(t, "one\ntwo\nthree\n", "one\n2\nthree\nfour\n")
	want := "@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n"
	if c.Diff != want || c.Added != 2 || c.Removed != 1 || c.Path != "/srv/x.go" || c.Kind != turn.KindEdit {
		t.Errorf("call = %+v", c)
	}
	if c := edited(t, "", "new\n"); c.Diff != "@@ -0,0 +1 @@\n+new\n" {
		t.Errorf("a new file: %q", c.Diff)
	}
	if c := edited(t, "a\r\nb\r\n", "a\r\nc\r\n"); c.Diff != "@@ -1,2 +1,2 @@\n a\n-b\n+c\n" {
		t.Errorf("Windows line ends: %q", c.Diff)
	}
	if c := edited(t, "x\n", "password = hunter2secret\n\x1b[31m\n"); strings.Contains(c.Diff, "hunter2") || strings.Contains(c.Diff, "\x1b") {
		t.Errorf("not redacted: %q", c.Diff)
	}
}

func TestSeveralFilesOfAPatchAreCompared(t *testing.T) {
	t.Parallel()
	all := calls(t, toolRun(t, "apply_patch", `{"patch":"*** Begin Patch","kind":"ApplyPatchAction"}`,
		`{"content":[],"commit":{"changes":{"b.go":{"type":"delete","old_content":"x\n"},"a.go":{"type":"add","new_content":"y\n"}}},"kind":"ApplyPatchObservation"}`))
	want := "--- a.go\n+++ a.go\n@@ -0,0 +1 @@\n+y\n--- b.go\n+++ b.go\n@@ -1 +0,0 @@\n-x\n"
	if diff := cmp.Diff(want, all[1].Diff); diff != "" || all[1].Added != 1 || all[1].Removed != 1 {
		t.Errorf("(-want +got):\n%s\n%+v", diff, all[1])
	}
}

// A file of any size costs no more than its size.
func TestLargeEditsAreBounded(t *testing.T) {
	t.Parallel()
	var before, after strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&before, "line %d\n", i)
		fmt.Fprintf(&after, "other %d\n", i)
	}
	c := edited(t, before.String(), after.String())
	if c.Added != 20_000 || c.DiffCut == 0 || len(c.Diff) > 26<<10 || !strings.HasSuffix(c.Diff, "\n") {
		t.Errorf("added %d, cut %d, %d bytes", c.Added, c.DiffCut, len(c.Diff))
	}
	huge := strings.Repeat("x\n", 1<<20)
	if c := edited(t, huge, huge+"y\n"); c.Diff != "" || c.DiffCut == 0 {
		t.Errorf("a huge file: %d bytes, cut %d", len(c.Diff), c.DiffCut)
	}
	if c := edited(t, "a", strings.Repeat("y", 900_000)); c.DiffCut == 0 || len(c.Diff) > 26<<10 {
		t.Errorf("a huge line: %d bytes, cut %d", len(c.Diff), c.DiffCut)
	}
}

// The engine appends a note of what its sandbox refused to the output. An output that has
// the text of such a note is not taken for one.
func TestACallHasWhatTheSandboxRefused(t *testing.T) {
	t.Parallel()
	want := []agentapi.Block{{Access: "write", Target: "/etc/hosts", Why: "read-only"}, {Access: "net", Target: "[redacted].example.com:443", Why: "no"}}
	note := event.RefusedNote([]event.Block{want[0], {Access: "net", Target: "sk-proj-abcdefghijklmnop.example.com:443", Why: "no"}})
	command := `{"command":"make","kind":"TerminalAction"}`
	for name, tc := range map[string]struct {
		tool, action, observation string
		want                      []agentapi.Block
	}{
		"a command":       {"terminal", command, `{"content":[{"type":"text","text":"out"}],"metadata":{"exit_code":0,"suffix":"\n[The command completed with exit code 0.]\n` + note + `"},"kind":"TerminalObservation"}`, want},
		"an output":       {"terminal", command, `{"content":[{"type":"text","text":"` + note + `"}],"metadata":{"exit_code":0,"suffix":""},"kind":"TerminalObservation"}`, nil},
		"an edit":         {"file_editor", `{"command":"create","path":"/etc/hosts","kind":"FileEditorAction"}`, `{"content":[{"type":"text","text":"cannot be written"},{"type":"text","text":"\n` + note + `"}],"is_error":true,"kind":"FileEditorObservation"}`, want},
		"a text with one": {"weather", `{"data":{},"kind":"MCPToolAction"}`, `{"content":[{"type":"text","text":"it said ` + note + `"}],"kind":"MCPToolObservation"}`, nil},
	} {
		all := calls(t, toolRun(t, tc.tool, tc.action, tc.observation))
		if diff := cmp.Diff(tc.want, all[1].Refused); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
