package turn

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/redact"
)

// Call is a tool call as it stands. It is described when it begins, and again
// under the same ID when it has its result. All texts are safe to show: hidden
// characters are written out, and what looks like a key is redacted. Written as
// JSON it stays below maxEncoded bytes.
type Call struct {
	ID    string    `json:"id"` // of the event that began it; unique in the conversation
	State CallState `json:"state"`
	Tool  string    `json:"tool"` // "terminal", "file_editor", ...
	Kind  CallKind  `json:"kind"`
	// Line is as in a Progress update. That of a browser's action with its result has the
	// title of the page.
	Line string `json:"line"`
	// Input is all of what the tool was told, when the call begins.
	Input string `json:"input,omitempty"`

	// The rest is the result.

	// Seconds is how long the call took; nil where its beginning is not a part of
	// the turn.
	Seconds *float64 `json:"seconds,omitempty"`
	// ExitCode is that of a command that has ended.
	ExitCode *int `json:"exit_code,omitempty"`
	// Output is what the model was told, or why there is no result. Of a long one
	// it has the beginning and the end; OutputCut is how many bytes are missing.
	Output    string `json:"output,omitempty"`
	OutputCut int    `json:"output_cut,omitempty"`
	// Path is the file of an edit or a view.
	Path string `json:"path,omitempty"`
	// Diff is an edit as a unified patch without a header. DiffCut is how many
	// lines of it are missing: all of them where the file is too large to compare.
	Diff    string `json:"diff,omitempty"`
	DiffCut int    `json:"diff_cut,omitempty"`
	// Added and Removed are lines.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
	// Tasks is the plan of the agent.
	Tasks []Task `json:"tasks,omitempty"`
	// Picture is what the browser showed.
	Picture *Picture `json:"picture,omitempty"`
	// Refused is what the model was told that the sandbox of the embedded engine has
	// refused meanwhile.
	Refused []agentapi.Block `json:"sandbox_refused,omitempty"`
}

// Picture is a picture that belongs to a call, as a file of the machine that ran it.
type Picture struct {
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
}

// Task is one step of the agent's plan.
type Task struct {
	Title  string `json:"title"`
	Notes  string `json:"notes,omitempty"`
	Status string `json:"status"` // "todo", "in_progress" or "done"
}

// CallState is how far a call is.
type CallState string

// The states of a call.
const (
	CallRunning     CallState = "running"
	CallDone        CallState = "done"
	CallFailed      CallState = "failed"      // the tool reported an error, or the command's exit code is not 0
	CallRejected    CallState = "rejected"    // by the user or a hook
	CallInterrupted CallState = "interrupted" // before it had a result
	CallWaiting     CallState = "waiting"     // for a confirmation
)

// CallKind is the kind of a tool.
type CallKind string

// The kinds of tools.
const (
	KindCommand CallKind = "command"
	KindEdit    CallKind = "edit"
	KindRead    CallKind = "read"
	KindTasks   CallKind = "tasks"
	KindMCP     CallKind = "mcp"
	KindThink   CallKind = "think"
	KindOther   CallKind = "other"
)

// Size is about how many bytes the call takes in memory.
func (c *Call) Size() int {
	const fields = 256
	n := fields + len(c.Line) + len(c.Input) + len(c.Output) + len(c.Path) + len(c.Diff)
	for _, t := range c.Tasks {
		n += len(t.Title) + len(t.Notes) + 64
	}
	return n
}

// Short is the call without its long texts: where there is no room for them,
// OutputCut and DiffCut say what is missing.
func (c *Call) Short() *Call {
	short := *c
	short.Input, short.Output, short.Diff, short.Tasks = "", "", "", nil
	short.OutputCut += len(c.Output)
	short.DiffCut += strings.Count(c.Diff, "\n")
	return &short
}

// openCall is a call without a result.
type openCall struct {
	id     string
	began  string // the event's timestamp
	action *event.Action
}

// begun describes a call that begins.
func begun(id string, a *event.Action) *Call {
	return &Call{ID: id, State: CallRunning, Tool: shorten(a.ToolName, maxLine), Kind: kindOf(a), Line: line(a), Input: input(a)}
}

// kinds are the tools of OpenHands and its presets.
var kinds = map[string]CallKind{
	"terminal": KindCommand, "execute_bash": KindCommand,
	"file_editor": KindEdit, "str_replace_editor": KindEdit, "planning_file_editor": KindEdit,
	"write_file": KindEdit, "edit": KindEdit, "apply_patch": KindEdit,
	"read_file": KindRead, "list_directory": KindRead, "glob": KindRead, "grep": KindRead,
	"task_tracker": KindTasks, "think": KindThink,
}

func kindOf(a *event.Action) CallKind {
	var in struct {
		Kind    string `json:"kind"`
		Command string `json:"command"`
	}
	_ = json.Unmarshal(arguments(a), &in) // the tool's name remains
	if in.Kind == "MCPToolAction" || in.Kind == "MCPToolObservation" {
		return KindMCP
	}
	kind, ok := kinds[a.ToolName]
	switch {
	case !ok:
		return KindOther
	case kind == KindEdit && in.Command == "view":
		return KindRead
	}
	return kind
}

// input returns all that the tool got: the command or the thought itself, else its
// arguments.
func input(a *event.Action) string {
	var in struct {
		Command string `json:"command"`
		Thought string `json:"thought"`
	}
	_ = json.Unmarshal(arguments(a), &in) // what is left are the arguments
	text := ""
	switch kind := kindOf(a); {
	case kind == KindCommand && in.Command != "":
		text = redact.Text(visible(in.Command))
	case kind == KindThink && in.Thought != "":
		text = redact.Text(visible(in.Thought))
	default:
		text = detail(a)
	}
	text, _ = cut(text, maxInput)
	return text
}

// took is the time between two timestamps of events, or nil.
func took(began, ended string) *float64 {
	const layout = "2006-01-02T15:04:05"
	from, err1 := time.Parse(layout, began)
	to, err2 := time.Parse(layout, ended)
	if err1 != nil || err2 != nil {
		return nil
	}
	seconds := max(0, to.Sub(from).Round(time.Millisecond).Seconds())
	return &seconds
}

// contextOf is that of the agent's model: the condenser and others have numbers
// of their own.
func contextOf(s event.Stats) Context {
	ids := []string{"agent", "default"}
	if len(s.UsageToMetrics) == 1 {
		ids = slices.Collect(maps.Keys(s.UsageToMetrics))
	}
	for _, id := range ids {
		if m, ok := s.UsageToMetrics[id]; ok && m.Usage != nil {
			return Context{Tokens: m.Usage.PerTurnToken, Window: m.Usage.ContextWindow}
		}
	}
	return Context{}
}
