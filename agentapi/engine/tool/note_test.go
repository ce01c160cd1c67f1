package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
)

// The fields, their order and everything else of an observation stay.
func TestANoteStandsInAFieldThatThereIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after, model string }{
		"a command": {
			`{"content":[{"type":"text","text":"out"}],"is_error":false,"command":"x","metadata":{"exit_code":1,"pid":-1,"prefix":"","suffix":"\n[s]","more":{"z":1,"a":2}},"kind":"TerminalObservation"}`,
			`{"content":[{"type":"text","text":"out"}],"is_error":false,"command":"x","metadata":{"exit_code":1,"pid":-1,"prefix":"","suffix":"\n[s]\nnote","more":{"z":1,"a":2}},"kind":"TerminalObservation"}`,
			"out\n[s]\nnote\n[exit code: 1]",
		},
		"another tool": {
			`{"content":[{"type":"text","text":"out"}],"is_error":false,"path":"/x","kind":"FileEditorObservation"}`,
			`{"content":[{"type":"text","text":"out"},{"type":"text","text":"\nnote"}],"is_error":false,"path":"/x","kind":"FileEditorObservation"}`,
			"out\nnote",
		},
		"nothing to read": {`{"content":[],"is_error":true,"kind":"X"}`, `{"content":[{"type":"text","text":"note"}],"is_error":true,"kind":"X"}`, "note"},
	} {
		var content []event.Content
		if err := json.Unmarshal([]byte(c.before), &struct {
			Content *[]event.Content `json:"content"`
		}{&content}); err != nil {
			t.Fatal(err)
		}
		r, err := tool.WithNote(tool.Result{Observation: json.RawMessage(c.before), Content: content}, "note")
		if err != nil {
			t.Fatal(err)
		}
		if got := event.PlainText(r.Content); got != c.model {
			t.Errorf("%s: the model sees %q", name, got)
		}
		if got := normal(t, r.Observation); got != normal(t, json.RawMessage(c.after)) {
			t.Errorf("%s: observation = %s", name, r.Observation)
		}
	}
	if _, err := tool.WithNote(tool.Result{Observation: json.RawMessage(`{"content":7,"kind":"X"}`)}, "note"); err == nil {
		t.Error("no error for an observation that is none")
	}
}

// normal is an observation whose content is as this package writes it.
func normal(t *testing.T, observation json.RawMessage) string {
	t.Helper()
	var o struct {
		Content  []event.Content `json:"content"`
		IsError  bool            `json:"is_error"`
		Command  string          `json:"command"`
		Path     string          `json:"path"`
		Metadata json.RawMessage `json:"metadata,omitempty"`
		Kind     string          `json:"kind"`
	}
	if err := json.Unmarshal(observation, &o); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
