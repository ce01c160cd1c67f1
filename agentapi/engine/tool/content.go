package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/event"
)

// The kinds whose content is not all that the model sees.
const (
	KindTerminalObservation = "TerminalObservation"
	kindBrowserObservation  = "BrowserObservation"
)

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

// Content is what the model is shown of a stored observation, by whomever it
// was written.
func Content(observation json.RawMessage) (content []event.Content, isError bool, err error) {
	var o struct {
		Content  []event.Content  `json:"content"`
		IsError  bool             `json:"is_error"`
		Metadata TerminalMetadata `json:"metadata"`
		Kind     string           `json:"kind"`
		// Of a BrowserObservation.
		Screenshot string `json:"screenshot_data"`
		SaveDir    string `json:"full_output_save_dir"`
	}
	if err := json.Unmarshal(observation, &o); err != nil {
		return nil, false, fmt.Errorf("decode observation: %w", err)
	}
	if o.Kind == kindBrowserObservation {
		return browserContent(event.PlainText(o.Content), o.Screenshot, o.SaveDir), o.IsError, nil
	}
	if o.Kind != KindTerminalObservation {
		return o.Content, o.IsError, nil
	}
	before, after := o.Metadata.Around()
	text, _ := Truncate(before+event.PlainText(o.Content)+after, LimitTerminal, "", "")
	return []event.Content{event.Text(text)}, o.IsError, nil
}

// browserContent is what the model sees of a browser: a text, and a picture.
func browserContent(text, picture, dir string) []event.Content {
	if utf8.RuneCountInString(text) > LimitBrowser {
		sum := sha256.Sum256([]byte(text))
		saved := ""
		if dir != "" {
			saved = filepath.Join(dir, OutputName("browser", sum[:]))
		}
		notice := utf8.RuneCountInString(CutNotice(saved, strings.Count(text, "\n")+1))
		room := LimitBrowser - notice
		head := Head(text, room-room/2)
		text = head + CutNotice(saved, strings.Count(head, "\n")+1) + Tail(text, room/2)
	}
	list := []event.Content{event.Text(text)}
	if picture == "" {
		return list
	}
	kind, ext := "image/png", ".png"
	for prefix, other := range map[string][2]string{"/9j/": {"image/jpeg", ".jpg"}, "R0lGODlh": {"image/gif", ".gif"}, "UklGR": {"image/webp", ".webp"}} {
		if strings.HasPrefix(picture, prefix) {
			kind, ext = other[0], other[1]
		}
	}
	if dir != "" {
		sum := sha256.Sum256([]byte(picture))
		list = append(list, event.Text("Screenshot saved to: "+filepath.Join(dir, "browser_screenshot_"+hex.EncodeToString(sum[:4])+ext)))
	}
	return append(list, event.Images("data:"+kind+";base64,"+picture))
}
