package answer

import (
	"cmp"
	"context"
	"errors"
	"sync"

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

// Events prints one question for programs: an event a line, and the end last,
// whatever ends the command. It asks nothing.
type Events struct {
	out     *iostream.Writer
	verbose bool // tell what each call of a model took

	mu    sync.Mutex
	turn  Turn // as far as it went
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
	*Action
	*Block
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
	Turn
}

// NewEvents makes the events of one question, of which this is known. verbose: what each
// call of a model took is one, too.
func NewEvents(out *iostream.Writer, verbose bool, known Turn) *Events {
	return &Events{out: out, verbose: verbose, turn: known}
}

// Piece implements [Show].
func (e *Events) Piece(p Piece) error {
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

// End prints what a turn has come to, but the end of the command.
func (e *Events) End(t Turn, _ bool) error {
	e.Know(t)
	for i := range t.Waiting {
		if err := putJSON(e.out, refusedJSON{Type: "approval_refused", Needed: needsConfirmation, Action: &t.Waiting[i]}, ""); err != nil {
			return err
		}
	}
	for i := range t.Blocked {
		if err := putJSON(e.out, refusedJSON{Type: "approval_refused", Needed: needsGrant, Block: &t.Blocked[i]}, ""); err != nil {
			return err
		}
	}
	if !t.Taken {
		return nil
	}
	return putJSON(e.out, struct {
		Type string `json:"type"` // "usage"
		Usage
	}{"usage", t.Usage}, "")
}

// Know keeps a turn for the end. A nil Events has none.
func (e *Events) Know(t Turn) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turn = t
}

// Last prints the end of the command, once.
func (e *Events) Last(ctx context.Context, err error) error {
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
func explain(err error, known *Failure, outcome string) *Failure {
	got := &Failure{Code: outcome, Message: err.Error()}
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
