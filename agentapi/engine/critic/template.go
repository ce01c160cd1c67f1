package critic

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// The words of the chat template that OpenHands' critic is trained with, of Qwen3.
const (
	turnStart = "<|im_start|>"
	turnEnd   = "<|im_end|>\n"

	toolsBefore = "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n" +
		"You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
	toolsAfter = "\n</tools>\n\nFor each function call, return a json object with function name and arguments within " +
		"<tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>"
)

// input writes down a conversation as the model reads it. Of calls it is shown the results
// alone, as in OpenHands.
func (s *service) input(t Trace) string {
	var b strings.Builder
	messages := t.Messages
	first := ""
	if len(messages) > 0 && messages[0].Role == "system" {
		first, messages = contentOf(messages[0]), messages[1:]
	}
	head := []string{}
	if len(t.Messages) > len(messages) {
		head = append(head, first)
	}
	if s.Tools && len(t.Tools) > 0 {
		head = append(head, toolsText(t))
	}
	if len(head) > 0 {
		b.WriteString(turnStart + "system\n" + strings.Join(head, "\n\n") + turnEnd)
	}
	for i, m := range messages {
		if m.Role != "tool" {
			b.WriteString(turnStart + m.Role + "\n" + contentOf(m) + turnEnd)
			continue
		}
		if i == 0 || messages[i-1].Role != "tool" {
			b.WriteString(turnStart + "user")
		}
		b.WriteString("\n<tool_response>\n" + contentOf(m) + "\n</tool_response>")
		if i == len(messages)-1 || messages[i+1].Role != "tool" {
			b.WriteString(turnEnd)
		}
	}
	return b.String()
}

// function is a tool as the model reads it.
type function struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func toolsText(t Trace) string {
	var b strings.Builder
	b.WriteString(toolsBefore)
	for _, tool := range t.Tools {
		f := function{Type: "function"}
		f.Function.Name, f.Function.Description, f.Function.Parameters = tool.Name, tool.Description, tool.Parameters
		if data, err := plainjson.Marshal(f); err == nil { // its schema is JSON
			b.WriteString("\n" + spaced(data))
		}
	}
	b.WriteString(toolsAfter)
	return b.String()
}

// spaced lays out compact JSON as Python does: with a blank behind each comma and colon.
func spaced(data []byte) string {
	var b strings.Builder
	inside, escaped := false, false
	for _, c := range data {
		b.WriteByte(c)
		switch {
		case escaped:
			escaped = false
		case inside && c == '\\':
			escaped = true
		case c == '"':
			inside = !inside
		case !inside && (c == ',' || c == ':'):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// contentOf is the texts of a message, one a line.
func contentOf(m event.LLMMessage) string {
	var list []string
	for _, item := range m.Content {
		if item.Type == event.TypeText {
			list = append(list, item.Text)
		}
	}
	return strings.Join(list, "\n")
}
