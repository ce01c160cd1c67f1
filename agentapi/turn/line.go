package turn

import (
	"encoding/json"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/redact"
)

const (
	maxLine   = 200  // runes of a progress line
	maxDetail = 1000 // runes of a cause's detail
)

// finishMessage is the message of a finish call that was understood. A call
// that was not is answered by an error, and the run goes on.
func finishMessage(a *event.Action) (string, bool) {
	if a.ToolName != "finish" || len(a.Action) == 0 || string(a.Action) == "null" {
		return "", false
	}
	var f struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(a.Action, &f); err != nil {
		return "", false
	}
	return f.Message, true
}

// line is an action in one line for a person.
func line(a *event.Action) string {
	args := a.Action
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage(a.ToolCall.Arguments)
	}
	var in struct {
		Command string            `json:"command"`
		IsInput bool              `json:"is_input"`
		Path    string            `json:"path"`
		Thought string            `json:"thought"`
		Tasks   []json.RawMessage `json:"task_list"`
	}
	// Arguments the model got wrong leave in empty; the tool's name remains.
	_ = json.Unmarshal(args, &in)
	var s string
	switch {
	case a.ToolName == "terminal" && in.IsInput:
		s = "> " + in.Command
	case a.ToolName == "terminal":
		s = "$ " + in.Command
	case a.ToolName == "file_editor" && in.Path != "":
		s = editorVerb(in.Command) + " " + path.Clean(in.Path)
	case a.ToolName == "think":
		s = "Think: " + in.Thought
	case a.ToolName == "task_tracker":
		s = "Plan the work"
	case a.Summary != "" && !strings.HasPrefix(a.Summary, a.ToolName+": {"):
		// A server that got no summary puts the arguments there.
		s = a.ToolName + ": " + a.Summary
	default:
		s = a.ToolName
	}
	return shorten(s, maxLine)
}

func editorVerb(command string) string {
	switch command {
	case "view":
		return "View"
	case "create":
		return "Create"
	case "undo_edit":
		return "Undo the edit of"
	default:
		return "Edit"
	}
}

// shorten is s in one line of at most limit runes, without control characters
// and without anything that looks like a key.
func shorten(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == ' ' }), " ")
	s = redact.Text(s)
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}
