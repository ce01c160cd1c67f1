package terminal

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

//go:embed terminal.md
var description string

// parameters are shared by all conversations and never changed.
var parameters = []byte(`{"type":"object","properties":{` +
	`"command":{"type":"string","description":"The command for bash. Empty: wait for more output of what is running. With is_input: a text that is typed and followed by Enter, or the name of a key: C-c, C-d, C-z or Ctrl with another letter, ENTER, TAB, ESC, BS, UP, DOWN, LEFT, RIGHT, HOME, END, PGUP, PGDN."},` +
	`"is_input":{"type":"boolean","description":"true: command is input for the running program, not a new command. The default is false.","default":false},` +
	`"timeout":{"type":"number","minimum":0,"description":"How many seconds to wait at most. Without it the call returns when there was no new output for a while. The program goes on in both cases."},` +
	`"reset":{"type":"boolean","description":"true: end the shell with all that runs in it and begin a new one, then run command in it, if there is one. Not together with is_input.","default":false}` +
	`},"required":["command"],"additionalProperties":false}`)

func definition() tool.Definition {
	return tool.Definition{
		Name:            "terminal",
		Description:     strings.TrimSpace(description),
		Parameters:      parameters,
		ActionKind:      "TerminalAction",
		ObservationKind: tool.KindTerminalObservation,
		Kind:            "TerminalTool",
		Annotations:     &tool.Annotations{Title: "terminal", Destructive: true, OpenWorld: true},
	}
}

// arguments are those of one call.
type arguments struct {
	Command string   `json:"command"`
	IsInput bool     `json:"is_input"`
	Timeout *float64 `json:"timeout"` // seconds
	Reset   bool     `json:"reset"`
}

// Params are the parameters of the tool in an agent's list of tools.
type Params struct {
	// NoChangeTimeout is how many seconds a command may be silent before the
	// call returns; 30 if nil.
	NoChangeTimeout *float64 `json:"no_change_timeout_seconds"`
	// ShellPath is a bash; the one in PATH if empty.
	ShellPath string `json:"shell_path"`
	// Env is added to the environment.
	Env map[string]string `json:"env"`
	// TerminalType is what OpenHands would use. There is only one kind here,
	// which does what tmux and subprocess do; powershell is refused.
	TerminalType string `json:"terminal_type"`
	// Username would be another user to work as; that is refused.
	Username string `json:"username"`
}

const defaultQuiet = 30 * time.Second

func (p Params) quiet() time.Duration {
	if p.NoChangeTimeout == nil {
		return defaultQuiet
	}
	return seconds(*p.NoChangeTimeout)
}

// seconds is a number of seconds that may be too big for a Duration.
func seconds(n float64) time.Duration {
	const most = 365 * 24 * time.Hour
	if n >= most.Seconds() {
		return most
	}
	return time.Duration(n * float64(time.Second))
}

// ParseParams reads the params of an agent's tool. Empty JSON and null have no params.
// Unknown params are an error, because they would have no effect.
func ParseParams(raw json.RawMessage) (Params, error) {
	var p Params
	if len(raw) == 0 || string(raw) == "null" {
		return p, nil
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return Params{}, fmt.Errorf("read the params of the tool terminal: %w", err)
	}
	if p.NoChangeTimeout != nil && *p.NoChangeTimeout <= 0 {
		return Params{}, fmt.Errorf("read the params of the tool terminal: no_change_timeout_seconds must be more than 0, not %g", *p.NoChangeTimeout)
	}
	return p, nil
}

// observation are the fields of a TerminalObservation besides content.
type observation struct {
	Command  string                `json:"command"`
	ExitCode *int                  `json:"exit_code,omitempty"`
	Timeout  bool                  `json:"timeout"`
	Metadata tool.TerminalMetadata `json:"metadata"`
	SaveDir  *string               `json:"full_output_save_dir,omitempty"`
}
