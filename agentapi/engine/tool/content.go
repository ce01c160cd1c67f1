package tool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// KindTerminalObservation is a kind whose content is not all that the model sees, as
// [KindBrowserObservation] is.
const KindTerminalObservation = "TerminalObservation"

// TerminalMetadata is what a TerminalObservation says besides the output.
type TerminalMetadata struct {
	ExitCode          int     `json:"exit_code"`
	PID               int     `json:"pid"`
	Username          *string `json:"username,omitempty"`
	Hostname          *string `json:"hostname,omitempty"`
	WorkingDir        *string `json:"working_dir,omitempty"`
	PyInterpreterPath *string `json:"py_interpreter_path,omitempty"`
	Prefix            string  `json:"prefix"`
	Suffix            string  `json:"suffix"`
}

// Around is what the model sees before and after the output of a command.
func (m TerminalMetadata) Around() (before, after string) {
	var b strings.Builder
	b.WriteString(m.Suffix)
	if m.WorkingDir != nil && *m.WorkingDir != "" {
		fmt.Fprintf(&b, "\n[directory: %s]", *m.WorkingDir)
	}
	if m.PyInterpreterPath != nil && *m.PyInterpreterPath != "" {
		fmt.Fprintf(&b, "\n[python: %s]", *m.PyInterpreterPath)
	}
	if m.ExitCode != -1 {
		fmt.Fprintf(&b, "\n[exit code: %d]", m.ExitCode)
	}
	return m.Prefix, b.String()
}

// Content returns what the model is shown of a stored observation, by whomever it was
// written.
func Content(observation json.RawMessage) (content []event.Content, isError bool, err error) {
	var o struct {
		Content  []event.Content  `json:"content"`
		IsError  bool             `json:"is_error"`
		Metadata TerminalMetadata `json:"metadata"`
		Kind     string           `json:"kind"`

		BrowserFields
	}
	if err := json.Unmarshal(observation, &o); err != nil {
		return nil, false, fmt.Errorf("decode observation: %w", err)
	}
	if o.Kind == KindBrowserObservation {
		return o.seen(event.PlainText(o.Content)), o.IsError, nil
	}
	if o.Kind != KindTerminalObservation {
		return o.Content, o.IsError, nil
	}
	before, after := o.Metadata.Around()
	text, _ := Truncate(before+event.PlainText(o.Content)+after, LimitTerminal, "", "")
	return []event.Content{event.Text(text)}, o.IsError, nil
}
