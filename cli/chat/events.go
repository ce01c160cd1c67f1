package chat

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/setup"
)

// eventsVersion is the version of the events of --json. It changes when a program
// that reads them would have to; new fields and new types of events may come
// without that. docs/chat-events.schema.json is the contract.
const eventsVersion = 1

// events prints one question for programs: an event a line, and the end last,
// whatever ends the command. It asks nothing.
type events struct {
	out     *iostream.Writer
	verbose bool // tell what each call of a model took

	mu    sync.Mutex
	turn  turnJSON // as far as it went
	ended bool
}

// eventJSON is an event. Type says which of the others it has.
type eventJSON struct {
	Type         string   `json:"type"` // "started", "queue", "lost", "restart", "phase", "text", "step"
	Version      int      `json:"version,omitempty"`
	Model        string   `json:"model,omitempty"`
	Conversation string   `json:"conversation,omitempty"`
	Workspace    string   `json:"workspace,omitempty"`
	Access       string   `json:"workspace_access,omitempty"`
	RequestID    string   `json:"request_id,omitempty"`
	Ignored      []string `json:"ignored,omitempty"`
	Queue        *int     `json:"queue,omitempty"`
	Attempt      int      `json:"attempt,omitempty"`
	Text         string   `json:"text,omitempty"`
	Phase        string   `json:"phase,omitempty"`
	Prompt       int64    `json:"prompt_tokens,omitempty"`
	Read         int64    `json:"read_tokens,omitempty"`
	Written      int64    `json:"written_tokens,omitempty"`
	ReadSeconds  float64  `json:"read_seconds,omitempty"`
	WriteSeconds float64  `json:"write_seconds,omitempty"`
}

// refusedJSON is what would have needed a person's yes.
type refusedJSON struct {
	Type   string `json:"type"` // "approval_refused"
	Needed string `json:"needed"`
	*actionJSON
	*blockJSON
}

// What needs a person: the confirmation of an action, or a grant of the sandbox.
const (
	needsConfirmation = "confirmation"
	needsGrant        = "grant"
)

// endJSON is the last line.
type endJSON struct {
	Type     string `json:"type"` // "end"
	Version  int    `json:"version"`
	Outcome  string `json:"outcome"`
	ExitCode int    `json:"exit_code"`
	turnJSON
}

func (e *events) piece(p piece) error {
	var line eventJSON
	switch {
	case p.started != nil:
		e.mu.Lock()
		t := e.turn
		e.mu.Unlock()
		line = eventJSON{
			Type: "started", Version: eventsVersion, Model: t.Model, Conversation: p.started.Conversation, RequestID: p.started.RequestID,
			Workspace: p.started.Workspace, Access: t.Access, Ignored: p.started.Ignored,
		}
	case p.waiting:
		line = eventJSON{Type: "queue", Queue: &p.queue}
	case p.lost != nil:
		line = eventJSON{Type: "lost", Attempt: p.lost.Attempt, Text: netcause.Of(p.lost.Err).Error()}
	case p.restart:
		line = eventJSON{Type: "restart"}
	case p.phase != nil && p.phase.Name == "done" && !e.verbose:
		return nil
	case p.phase != nil:
		line = eventJSON{
			Type: "phase", Phase: p.phase.Name, Prompt: p.phase.Prompt, Read: p.phase.Read,
			Written: p.phase.Written, ReadSeconds: p.phase.ReadSeconds, WriteSeconds: p.phase.WriteSeconds,
		}
	case p.line != "":
		line = eventJSON{Type: "step", Text: p.line}
	case p.text != "":
		line = eventJSON{Type: "text", Text: p.text}
	default:
		return nil
	}
	return putJSON(e.out, line, "")
}

// end prints what a turn has come to, but the end of the command.
func (e *events) end(t turnJSON, _ bool) error {
	e.know(t)
	for i := range t.Waiting {
		if err := putJSON(e.out, refusedJSON{Type: "approval_refused", Needed: needsConfirmation, actionJSON: &t.Waiting[i]}, ""); err != nil {
			return err
		}
	}
	for i := range t.Blocked {
		if err := putJSON(e.out, refusedJSON{Type: "approval_refused", Needed: needsGrant, blockJSON: &t.Blocked[i]}, ""); err != nil {
			return err
		}
	}
	if !t.taken {
		return nil
	}
	return putJSON(e.out, struct {
		Type string `json:"type"` // "usage"
		usageJSON
	}{"usage", t.Usage}, "")
}

// know keeps a turn for the end. A nil events has none.
func (e *events) know(t turnJSON) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turn = t
}

// last prints the end of the command, once.
func (e *events) last(ctx context.Context, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return nil
	}
	e.ended = true
	t, code := e.turn, fault.CodeOf(err)
	if stopped, ok := kit.Interrupted(ctx, err); ok {
		code, err = stopped, &fault.Error{Msg: "interrupted", Code: stopped}
	}
	outcome := code.Outcome()
	if t.Progress == nil {
		t.Progress, t.Ignored = []string{}, []string{}
	}
	if err != nil {
		t.Error = explain(err, t.Error, outcome)
		if t.Status == "" {
			t.Status = "not_started"
		}
	}
	return putJSON(e.out, endJSON{"end", eventsVersion, outcome, int(code), t}, "")
}

// explain is an error for the last line, in the words of stderr.
func explain(err error, known *errorJSON, outcome string) *errorJSON {
	got := &errorJSON{Code: outcome, Message: err.Error()}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		got.Message, got.Hint = f.Msg, f.Hint
		if f.Err != nil {
			got.Cause = f.Err.Error()
		}
	}
	if known != nil { // what the gateway said
		got.Code = cmp.Or(known.Code, got.Code)
	}
	got.Message, got.Cause, got.Hint = setup.Clean(got.Message), setup.Clean(got.Cause), setup.Clean(got.Hint)
	return got
}

// answerEvents runs the command for programs.
func (o *options) answerEvents(ctx context.Context) error {
	e := &events{out: o.Stdout, verbose: o.Verbose, turn: turnJSON{Model: o.model, Conversation: o.conversation}}
	if e.turn.Model == "" {
		e.turn.Model = activeModel
	}
	o.events = e
	o.Leaving = func(err error) { _ = e.last(ctx, err) } // It is left already.
	err := run(ctx, o)
	if errors.Is(err, kit.ErrReaderGone) {
		return err
	}
	if end := e.last(ctx, err); err == nil {
		err = end
	}
	return err
}

// End prints the last line of a question whose command line could not be read. It
// does nothing for other commands, and where the line was printed.
func End(ctx context.Context, a *kit.App, cmd *cobra.Command, args []string, err error) {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	if cmd.Name() != "chat" || cmd.HasSubCommands() || !slices.Contains(args, "--json") || slices.Contains(args, "--list") || a.Leaving != nil {
		return
	}
	// Stdout may be closed, and the error is on stderr as well.
	_ = (&events{out: a.Stdout, turn: turnJSON{Model: activeModel}}).last(ctx, err)
}
