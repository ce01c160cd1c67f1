package acp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/acp"
	"github.com/ohgw/ohgw/internal/gateway"
)

// offered are the values of an option in the result of a request.
func offered(t *testing.T, m message, id string) (current string, values []string) {
	t.Helper()
	options, _ := m.Result["configOptions"].([]any)
	for _, o := range options {
		o, _ := o.(map[string]any)
		if o["id"] != id {
			continue
		}
		list, _ := o["options"].([]any)
		for _, v := range list {
			v, _ := v.(map[string]any)
			values = append(values, fmt.Sprint(v["value"]))
		}
		return fmt.Sprint(o["currentValue"]), values
	}
	t.Fatalf("no option %s in %s", id, m.raw)
	return "", nil
}

func (e *editor) newSession() message {
	e.t.Helper()
	e.call("initialize", object{"protocolVersion": 1})
	m, _ := e.call("session/new", object{"cwd": e.t.TempDir(), "mcpServers": []any{}})
	return m
}

func TestTheModesAreThoseThatMayBeChosen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode    gateway.Confirmation
		lower   bool
		current string
		want    []string
	}{
		"by settings":           {"", true, "default", []string{"default", "never", "risky", "always"}},
		"risky, may be lowered": {"risky", true, "risky", []string{"never", "risky", "always"}},
		"risky, at least":       {"risky", false, "risky", []string{"risky", "always"}},
		"always, at least":      {"always", false, "always", []string{"always"}},
	} {
		e := start(t, &script{}, func(c *acp.Config) {
			c.Confirmation = func(context.Context) (gateway.Confirmation, bool) { return tt.mode, tt.lower }
		})
		current, values := offered(t, e.newSession(), "mode")
		if diff := cmp.Diff(tt.want, values); diff != "" || current != tt.current {
			t.Errorf("%s: current = %s, values (-want +got): %s", name, current, diff)
		}
	}
}

func TestModeAndModelCountFromTheNextPromptOn(t *testing.T) {
	t.Parallel()
	s := &script{turns: [][]gateway.Piece{{gateway.Done{Finish: "stop"}}}}
	e := start(t, s)
	m := e.newSession()
	id := m.Result["sessionId"]
	if _, models := offered(t, m, "model"); strings.Join(models, " ") != "openhands_work openhands_home" {
		t.Error(models)
	}
	prompt := func() { e.call("session/prompt", object{"sessionId": id, "prompt": text("go")}) }
	prompt()
	if m, before := e.call("session/set_mode", object{"sessionId": id, "modeId": "always"}); m.Error != nil || len(before) != 1 || before[0].Params.Update["sessionUpdate"] != "config_option_update" {
		t.Error(m.raw)
	}
	m, _ = e.call("session/set_config_option", object{"sessionId": id, "configId": "model", "value": "openhands_home"})
	if current, _ := offered(t, m, "model"); current != "openhands_home" {
		t.Error(m.raw)
	}
	prompt()
	m, before := e.call("session/set_config_option", object{"sessionId": id, "configId": "mode", "value": "default"})
	if current, _ := offered(t, m, "mode"); current != "default" || len(before) != 1 || before[0].Params.Update["currentModeId"] != "default" {
		t.Error(m.raw)
	}
	prompt()
	var got []string
	for _, q := range s.questions() {
		got = append(got, q.Model+" "+string(q.Confirmation))
	}
	if diff := cmp.Diff([]string{"openhands_work ", "openhands_home always", "openhands_home "}, got); diff != "" {
		t.Error(diff)
	}
	cut := "x" + strings.Repeat("é", 49)
	for want, params := range map[string]object{
		`the mode "x" cannot be chosen here`: {"sessionId": id, "configId": "mode", "value": "x"},
		`there is no model "x"`:              {"sessionId": id, "configId": "model", "value": "x"},
		`there is no model "` + cut + `…"`:   {"sessionId": id, "configId": "model", "value": cut + "éé"}, // between two characters
		`there is no option "x"`:             {"sessionId": id, "configId": "x", "value": "x"},
		"value is not a string":              {"sessionId": id, "configId": "mode", "type": "boolean", "value": true},
		`there is no session "none"`:         {"sessionId": "none", "configId": "mode", "value": "x"},
	} {
		if m, _ := e.call("session/set_config_option", params); m.Error == nil || m.Error.Message != want {
			t.Errorf("%s: answer = %s", want, m.raw)
		}
	}
	if m, _ := e.call("session/set_mode", object{"sessionId": id, "modeId": "yolo"}); m.Error == nil {
		t.Error(m.raw)
	}
}

func TestASessionIsLoadedWithWhatWasSaid(t *testing.T) {
	t.Parallel()
	const id = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e"
	s := &script{
		turns: [][]gateway.Piece{{gateway.Done{Finish: "stop"}}},
		earlier: map[string][]gateway.Item{id: {
			{Kind: gateway.Asked, Text: "Look.", Images: 2},
			{Kind: gateway.Said, Text: "I look."},
			{Kind: gateway.Did, Call: &gateway.Call{ID: "a", State: "done", Kind: "command", Line: "$ ls", Output: "x"}},
			{Kind: gateway.Broke, Text: "The provider failed."},
			{Kind: gateway.Answered, Text: "Done."},
		}},
	}
	e := start(t, s)
	e.call("initialize", object{"protocolVersion": 1})
	params := object{"sessionId": id, "cwd": t.TempDir(), "mcpServers": []any{}}
	m, before := e.call("session/load", params)
	if m.Error != nil || m.Result["sessionId"] != nil {
		t.Fatal(m.raw)
	}
	var got []string
	for _, b := range before {
		content, _ := b.Params.Update["content"].(map[string]any)
		got = append(got, fmt.Sprint(b.Params.Update["sessionUpdate"], ": ", content["text"], b.Params.Update["title"]))
	}
	want := []string{
		"user_message_chunk: Look. [2 images]<nil>", "agent_message_chunk: I look.\n\n<nil>", "tool_call: <nil>ls",
		"agent_thought_chunk: The provider failed.\n\n<nil>", "agent_message_chunk: Done.\n\n<nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if m, before := e.call("session/resume", params); m.Error != nil || len(before) != 0 {
		t.Error(m.raw)
	}
	if m, _ := e.call("session/prompt", object{"sessionId": id, "prompt": text("go on")}); m.Result["stopReason"] != "end_turn" {
		t.Error(m.raw)
	}
	if q := s.questions()[0]; q.Conversation != id || q.Workspace != "" { // it works where it did
		t.Errorf("question = %+v", q)
	}
	params["sessionId"] = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d90"
	if m, _ := e.call("session/load", params); m.Error == nil || m.Error.Code != -32002 {
		t.Error(m.raw)
	}
}

func TestAClosedSessionIsGone(t *testing.T) {
	t.Parallel()
	s := &script{turns: [][]gateway.Piece{{gateway.Started{}}}}
	e := start(t, s)
	id := e.session()
	prompt := e.send("session/prompt", object{"sessionId": id, "prompt": text("go")})
	<-s.began
	closing := e.send("session/close", object{"sessionId": id})
	seen := map[any]message{}
	for len(seen) < 2 {
		if m := e.next(); m.Method == "" {
			seen[m.ID] = m
		}
	}
	if seen[prompt].Result["stopReason"] != "cancelled" || seen[closing].Error != nil {
		t.Errorf("the answers: %v", seen)
	}
	if m, _ := e.call("session/prompt", object{"sessionId": id, "prompt": text("go")}); m.Error == nil {
		t.Error(m.raw)
	}
}
