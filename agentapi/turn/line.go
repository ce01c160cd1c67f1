package turn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/oneline"
	"github.com/ohgw/ohgw/internal/redact"
	"github.com/ohgw/ohgw/internal/truncate"
)

const (
	maxLine   = 200      // runes of a progress line
	maxDetail = 1000     // runes of a cause's detail
	maxAction = 64 << 10 // bytes of an action's detail
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

// line writes an action in one line for a person.
func line(a *event.Action) string {
	var in struct {
		Command string            `json:"command"`
		IsInput bool              `json:"is_input"`
		Path    string            `json:"path"`
		Thought string            `json:"thought"`
		Tasks   []json.RawMessage `json:"task_list"`
	}
	// Arguments the model got wrong leave in empty; the tool's name remains.
	_ = json.Unmarshal(arguments(a), &in)
	s := browserLine(a)
	switch {
	case s != "":
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

// detail returns all of what an action would do, empty where its line says it: who
// lets it happen must be able to see it.
func detail(a *event.Action) string {
	args := arguments(a)
	var in struct {
		Command string `json:"command"`
	}
	text := ""
	if err := json.Unmarshal(args, &in); err == nil && a.ToolName == "terminal" {
		text = in.Command
		if len(text) <= maxLine-2 && !strings.ContainsFunc(text, hidden) {
			return ""
		}
	} else {
		var indented bytes.Buffer
		if err := json.Indent(&indented, args, "", "  "); err != nil {
			indented.Write(args) // The model got it wrong; it is what it said.
		}
		text = indented.String()
	}
	text = redact.Text(visible(text))
	return truncate.Bytes(text, maxAction, fmt.Sprintf("\n… %d more bytes are not shown", len(text)-maxAction))
}

// hidden reports whether a character is not seen and may change how others are.
func hidden(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// visible writes hidden characters as people can see them.
func visible(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '\n', r == '\t', !hidden(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}

// arguments are those of the action as it was understood, else as the model
// wrote them.
func arguments(a *event.Action) json.RawMessage {
	if len(a.Action) == 0 || string(a.Action) == "null" {
		return json.RawMessage(a.ToolCall.Arguments)
	}
	return a.Action
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
	return truncate.Within(redact.Text(oneline.Of(s)), limit, "…")
}
