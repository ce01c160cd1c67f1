package acp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/gateway"
)

// updates are the updates that a turn of these pieces brings, as JSON.
func updates(t *testing.T, pieces ...gateway.Piece) []string {
	t.Helper()
	e := start(t, &script{turns: [][]gateway.Piece{append(pieces, gateway.Done{Finish: "stop", RunStatus: "finished"})}})
	_, before := e.call("session/prompt", object{"sessionId": e.session(), "prompt": text("go")})
	var all []string
	for _, m := range before {
		data, err := json.Marshal(m.Params.Update)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	return all
}

func TestAnActionIsAToolCallWithItsResult(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		calls []gateway.Piece
		want  []string
	}{
		"a command": {
			[]gateway.Piece{
				gateway.Call{ID: "a", State: "running", Tool: "terminal", Kind: "command", Line: "$ go test ./...", Input: "go test ./..."},
				gateway.Call{ID: "a", State: "failed", Tool: "terminal", Kind: "command", Line: "$ go test ./...", ExitCode: new(1), Seconds: new(0.5), Output: "FAIL ```\n", OutputCut: 7},
			},
			[]string{
				`{"kind":"execute","name":"terminal","rawInput":{"input":"go test ./..."},"sessionUpdate":"tool_call","status":"in_progress","title":"go test ./...","toolCallId":"a"}`,
				`{"content":[{"content":{"text":"` + "````\\nFAIL ```\\n````" + `","type":"text"},"type":"content"},{"content":{"text":"7 bytes of the output are not shown. Exit code 1.","type":"text"},"type":"content"}],"kind":"execute","name":"terminal","rawOutput":{"exit_code":1,"seconds":0.5},"sessionUpdate":"tool_call_update","status":"failed","title":"go test ./...","toolCallId":"a"}`,
			},
		},
		"an edit": {
			[]gateway.Piece{
				gateway.Call{
					ID: "a", State: "done", Tool: "file_editor", Kind: "edit", Line: "Edit /p/main.go", Path: "/p/main.go", Output: "edited", DiffCut: 3,
					Diff: "@@ -1,3 +1,3 @@\n a\n-b\n+c\n\n@@ -9,1 +9,2 @@\n-x\n+y\n+z\n\\ No newline at end of file\n",
				},
			},
			[]string{
				`{"content":[{"newText":"a\nc\n\n","oldText":"a\nb\n\n","path":"/p/main.go","type":"diff"},{"newText":"y\nz\n","oldText":"x\n","path":"/p/main.go","type":"diff"},{"content":{"text":"3 more changed lines are not shown.","type":"text"},"type":"content"}],"kind":"edit","locations":[{"path":"/p/main.go"}],"name":"file_editor","sessionUpdate":"tool_call","status":"completed","title":"Edit /p/main.go","toolCallId":"a"}`,
			},
		},
		"a new file": {
			[]gateway.Piece{gateway.Call{ID: "a", State: "done", Kind: "edit", Line: "Create /n", Path: "/n", Diff: "@@ -0,0 +1 @@\n+new\n"}},
			[]string{`{"content":[{"newText":"new\n","path":"/n","type":"diff"}],"kind":"edit","locations":[{"path":"/n"}],"sessionUpdate":"tool_call","status":"completed","title":"Create /n","toolCallId":"a"}`},
		},
		"an empty tool, rejected": {
			[]gateway.Piece{gateway.Call{ID: "a", State: "rejected", Tool: "mcp_x", Kind: "mcp", Line: " "}},
			[]string{`{"content":[{"content":{"text":"Rejected.","type":"text"},"type":"content"}],"kind":"other","name":"mcp_x","sessionUpdate":"tool_call","status":"failed","title":"mcp_x","toolCallId":"a"}`},
		},
		"a plan": {
			[]gateway.Piece{gateway.Call{ID: "a", State: "done", Kind: "tasks", Line: "Plan the work", Tasks: []gateway.Task{{Title: "Look", Status: "done"}, {Title: "Do", Notes: "well", Status: "in_progress"}, {Title: "Test", Status: "todo"}}}},
			[]string{
				`{"kind":"think","sessionUpdate":"tool_call","status":"completed","title":"Plan the work","toolCallId":"a"}`,
				`{"entries":[{"content":"Look","priority":"medium","status":"completed"},{"content":"Do: well","priority":"medium","status":"in_progress"},{"content":"Test","priority":"medium","status":"pending"}],"sessionUpdate":"plan"}`,
			},
		},
		"after a lost connection": {
			[]gateway.Piece{
				gateway.Started{},
				gateway.Call{ID: "a", State: "running", Kind: "other", Line: "x"},
				gateway.Call{ID: "a", State: "done", Kind: "other", Line: "x"},
				gateway.Lost{},
				gateway.Started{Replayed: true},
				gateway.Call{ID: "a", State: "running", Kind: "other", Line: "x"},
				gateway.Call{ID: "a", State: "done", Kind: "other", Line: "x"},
			},
			[]string{
				`{"kind":"other","sessionUpdate":"tool_call","status":"in_progress","title":"x","toolCallId":"a"}`,
				`{"kind":"other","sessionUpdate":"tool_call_update","status":"completed","title":"x","toolCallId":"a"}`,
			},
		},
		"a refusal of the sandbox": {
			[]gateway.Piece{gateway.Block{Access: "net", Target: "api.example:443", Why: "it is not on the allow list", Allow: "net api.example"}},
			[]string{`{"content":{"text":"The sandbox refused net api.example:443: it is not on the allow list. To allow it: ohgw sandbox allow net api.example\n","type":"text"},"sessionUpdate":"agent_thought_chunk"}`},
		},
		"a retry": {
			[]gateway.Piece{gateway.Retry{Attempt: 2, Of: 5, Seconds: 16, Cause: "127.0.0.1:11434 refuses connections"}},
			[]string{`{"content":{"text":"127.0.0.1:11434 refuses connections; attempt 2 of 5 in 16 s.\n","type":"text"},"sessionUpdate":"agent_thought_chunk"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, updates(t, tt.calls...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheContextsFillAndTheCostAreTold(t *testing.T) {
	t.Parallel()
	end := gateway.Done{Finish: "stop", Context: gateway.Context{Tokens: 1000, Window: 200000}, Usage: gateway.Usage{Cost: new(0.25)}}
	e := start(t, &script{turns: [][]gateway.Piece{{end}}})
	id := e.session()
	for _, want := range []float64{0.25, 0.5} {
		_, before := e.call("session/prompt", object{"sessionId": id, "prompt": text("go")})
		if diff := cmp.Diff(object{"sessionUpdate": "usage_update", "used": 1000.0, "size": 200000.0, "cost": object{"amount": want, "currency": "USD"}}, before[0].Params.Update); diff != "" {
			t.Error(diff)
		}
	}
}

// waits is a turn whose last action waits for a confirmation.
func waits(command string) []gateway.Piece {
	const notice = "The agent waits for your confirmation."
	call := gateway.Call{ID: "call " + command, State: "running", Tool: "terminal", Kind: "command", Line: "$ " + command, Input: command}
	asks := call
	asks.State, asks.Input = "waiting", ""
	return []gateway.Piece{
		gateway.Started{},
		gateway.Text("I will."), call, asks, gateway.Text("\n\n" + notice),
		gateway.Done{Finish: "stop", RunStatus: "waiting_for_confirmation", Notice: notice, Waiting: []gateway.Action{{Tool: "terminal", Line: "$ " + command}}},
	}
}

// answer waits for a request of the agent and answers it.
func (e *editor) answer(outcome object) message {
	e.t.Helper()
	for {
		if m := e.next(); m.Method == "session/request_permission" {
			e.write(object{"jsonrpc": "2.0", "id": m.ID, "result": object{"outcome": outcome}})
			return m
		}
	}
}

func TestTheUserDecidesAboutActionsThatWait(t *testing.T) {
	t.Parallel()
	finished := []gateway.Piece{gateway.Started{}, gateway.Text("Done."), gateway.Done{Finish: "stop", RunStatus: "finished"}}
	for name, tt := range map[string]struct {
		outcome object
		reason  string
		want    gateway.Question // the second one
	}{
		"allowed":   {object{"outcome": "selected", "optionId": "allow"}, "end_turn", gateway.Question{Decision: gateway.Accept}},
		"rejected":  {object{"outcome": "selected", "optionId": "reject"}, "end_turn", gateway.Question{Decision: gateway.Reject, Text: "I do not allow this action."}},
		"cancelled": {object{"outcome": "cancelled"}, "cancelled", gateway.Question{}},
		"nonsense":  {object{"outcome": "selected", "optionId": "x"}, "cancelled", gateway.Question{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{turns: [][]gateway.Piece{waits("make"), finished}}
			e := start(t, s)
			id := e.session()
			prompt := e.send("session/prompt", object{"sessionId": id, "prompt": text("go")})
			asked := e.answer(tt.outcome)
			const want = `"toolCall":{"toolCallId":"call make","title":"make","name":"terminal","kind":"execute","status":"pending","rawInput":{"input":"make"}},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"allow_always","name":"Always allow this in the session","kind":"allow_always"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]`
			if !strings.Contains(asked.raw, want) {
				t.Errorf("%s\nhas no %s", asked.raw, want)
			}
			m, before := e.until(prompt)
			if m.Result["stopReason"] != tt.reason {
				t.Error(m.raw)
			}
			if _, other := said(before); name == "rejected" && !slices.Contains(other, "tool_call_update make failed") {
				t.Error(other)
			}
			questions := s.questions()
			if tt.want.Decision == "" {
				if len(questions) != 1 {
					t.Errorf("questions = %+v", questions)
				}
				return
			}
			tt.want.Model, tt.want.Conversation, tt.want.Key, tt.want.Details, tt.want.Workspace = "openhands_work", id, questions[1].Key, true, "in 001"
			if diff := cmp.Diff(tt.want, questions[1]); diff != "" || questions[1].Key == questions[0].Key {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsAlwaysAllowedIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	finished := []gateway.Piece{gateway.Done{Finish: "stop", RunStatus: "finished"}}
	s := &script{turns: [][]gateway.Piece{waits("make"), finished, waits("make"), finished, waits("make clean"), finished}}
	e := start(t, s)
	id := e.session()
	prompt := func() float64 {
		return e.send("session/prompt", object{"sessionId": id, "prompt": text("go")})
	}
	first := prompt()
	e.answer(object{"outcome": "selected", "optionId": "allow_always"})
	e.until(first)
	m, before := e.until(prompt())
	for _, b := range before {
		if b.Method == "session/request_permission" {
			t.Error(b.raw)
		}
	}
	if m.Result["stopReason"] != "end_turn" {
		t.Error(m.raw)
	}
	other := prompt()
	e.answer(object{"outcome": "selected", "optionId": "reject"})
	e.until(other)
}

func TestTheNoticeAboutAConfirmationIsADialogOnly(t *testing.T) {
	t.Parallel()
	s := &script{turns: [][]gateway.Piece{waits("make"), {gateway.Started{}, gateway.Text("Done."), gateway.Done{Finish: "stop"}}}}
	e := start(t, s)
	id := e.send("session/prompt", object{"sessionId": e.session(), "prompt": text("go")})
	var before []message
	for {
		m := e.next()
		if m.Method == "session/request_permission" {
			e.write(object{"jsonrpc": "2.0", "id": m.ID, "result": object{"outcome": object{"outcome": "selected", "optionId": "allow"}}})
			break
		}
		before = append(before, m)
	}
	_, after := e.until(id)
	got, _ := said(before)
	then, _ := said(after)
	if got != "I will." || then != "Done." {
		t.Errorf("said = %q, then %q", got, then)
	}
}

func TestAnEditorThatCannotAskIsToldWhy(t *testing.T) {
	t.Parallel()
	e := start(t, &script{turns: [][]gateway.Piece{waits("make")}})
	prompt := e.send("session/prompt", object{"sessionId": e.session(), "prompt": text("go")})
	for {
		if m := e.next(); m.Method == "session/request_permission" {
			e.write(object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": -32601, "message": "Method not found"}})
			break
		}
	}
	if m, _ := e.until(prompt); m.Error == nil || m.Error.Message != "an action waits for a confirmation, and the editor cannot ask for it: Method not found" {
		t.Error(m.raw)
	}
}

func TestACancelEndsTheQuestionToo(t *testing.T) {
	t.Parallel()
	e := start(t, &script{turns: [][]gateway.Piece{waits("make")}})
	id := e.session()
	prompt := e.send("session/prompt", object{"sessionId": id, "prompt": text("go")})
	for e.next().Method != "session/request_permission" {
	}
	e.write(object{"jsonrpc": "2.0", "method": "session/cancel", "params": object{"sessionId": id}})
	if m, _ := e.until(prompt); m.Result["stopReason"] != "cancelled" {
		t.Error(m.raw)
	}
}
