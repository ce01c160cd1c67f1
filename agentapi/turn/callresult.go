package turn

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// callResult is what an event says of the end of a call.
type callResult struct {
	id, tool string
	state    CallState
	exit     *int
	text     string // what the model was told
	action   *event.Action
	seconds  *float64
	seen     observed
}

// observed are the fields of observations that are shown.
type observed struct {
	Content  []event.Content `json:"content"`
	IsError  bool            `json:"is_error"`
	ExitCode *int            `json:"exit_code"`
	Metadata struct {
		ExitCode *int    `json:"exit_code"`
		Suffix   *string `json:"suffix"`
	} `json:"metadata"`
	Path     string `json:"path"`
	FilePath string `json:"file_path"`
	change
	Commit struct {
		Changes map[string]change `json:"changes"`
	} `json:"commit"`
	Tasks []Task `json:"task_list"`

	Screenshot string `json:"screenshot_data"` // base64
	SaveDir    string `json:"full_output_save_dir"`
}

// resultOf reads the result of a call. Of a call that began in an earlier turn,
// the zero openCall, it knows what the observation repeats.
func resultOf(e event.Event, of openCall) callResult {
	res := callResult{id: of.id, action: of.action, state: CallDone}
	if of.action != nil {
		res.seconds = took(of.began, e.Timestamp)
	}
	switch b := e.Body.(type) {
	case *event.Observation:
		res.tool = b.ToolName
		res.id = cmp.Or(res.id, b.ActionID)
		if res.action == nil {
			res.action = &event.Action{ToolName: b.ToolName, Action: b.Observation}
		}
		res.observe(b)
	case *event.AgentError:
		res.tool, res.state, res.text = b.ToolName, CallFailed, b.Error
		if endedEarly(b.Error) {
			res.state = CallInterrupted
		}
	case *event.UserReject:
		res.tool, res.state, res.text = b.ToolName, CallRejected, b.RejectionReason
		res.id = cmp.Or(res.id, b.ActionID)
	}
	if res.action == nil {
		res.action = &event.Action{ToolName: res.tool}
	}
	res.id = cmp.Or(res.id, e.ID)
	return res
}

// endedEarly reports whether the error of a call says that it was cut off:
// by a user, or because its server ended. Both backends write such errors.
func endedEarly(text string) bool {
	for _, begin := range []string{
		"Tool call interrupted", "A restart occurred while this tool", // of an agent-server
		"This call was interrupted", "This call has no result here", // of the embedded agent
	} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}

func (res *callResult) observe(b *event.Observation) {
	// What cannot be read is shown without it.
	_ = json.Unmarshal(b.Observation, &res.seen)
	res.text = event.PlainText(res.seen.Content)
	if kindOf(res.action) == KindCommand {
		res.exit = cmp.Or(res.seen.ExitCode, res.seen.Metadata.ExitCode)
		if res.exit != nil && *res.exit < 0 { // it goes on
			res.exit = nil
		}
	}
	if res.seen.IsError || res.exit != nil && *res.exit != 0 {
		res.state = CallFailed
	}
}

// refused reads what the sandbox has refused meanwhile, as the engine notes it: behind
// the output of a command, elsewhere in a text of its own. The output itself says
// nothing.
func (o observed) refused() (list []agentapi.Block) {
	var notes []string
	if o.Metadata.Suffix != nil {
		notes = strings.Split(*o.Metadata.Suffix, "\n")
	} else {
		for _, c := range o.Content {
			notes = append(notes, strings.TrimPrefix(c.Text, "\n"))
		}
	}
	for _, note := range notes {
		for _, b := range event.Refused(note) {
			list = append(list, bounded(b))
		}
	}
	return list
}

// failureLine writes the line of progress of a call that was not done.
func (res *callResult) failureLine() string {
	why := ""
	switch {
	case res.state == CallRejected:
		why = " (rejected)"
	case res.state != CallFailed:
		return ""
	case res.exit != nil:
		why = " (exit code " + strconv.Itoa(*res.exit) + ")"
	default:
		first, _, _ := strings.Cut(strings.TrimSpace(res.text), "\n")
		if first = shorten(first, maxLine/2); first != "" {
			why = ": " + first
		}
	}
	return "✗ " + shorten(line(res.action), maxLine-2-len([]rune(why))) + why
}

// call describes the call with its result.
func (res *callResult) call() *Call {
	c := &Call{
		ID: res.id, State: res.state, Tool: shorten(res.tool, maxLine), Kind: kindOf(res.action), Line: line(res.action),
		Seconds: res.seconds, ExitCode: res.exit, Path: shorten(cmp.Or(res.seen.Path, res.seen.FilePath), maxPath),
	}
	c.Output, c.OutputCut = output(res.text)
	c.Refused = res.seen.refused()
	c.Picture = res.seen.picture()
	if c.Kind == KindTasks {
		c.Tasks = tasks(res.seen.Tasks)
	}
	if c.Kind == KindEdit && res.state == CallDone {
		c.compare(res.seen.changed())
	}
	return c
}

// tasks are those of a plan, bounded.
func tasks(all []Task) []Task {
	left := maxOutput
	var kept []Task
	for _, t := range all {
		t = Task{Title: shorten(t.Title, maxLine), Notes: shorten(t.Notes, maxLine), Status: shorten(t.Status, 20)}
		if left -= encoded(t.Title) + encoded(t.Notes) + 64; left < 0 {
			return append(kept, Task{Title: strconv.Itoa(len(all)-len(kept)) + " more tasks", Status: "todo"})
		}
		kept = append(kept, t)
	}
	return kept
}
