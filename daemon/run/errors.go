package run

import (
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/rescue"
)

// Refusals of Admit. Nothing was started.
var (
	// ErrGone: the client had hung up before its request was admitted.
	ErrGone = errors.New("the client had gone before its request was admitted")
	// ErrDraining: the gateway is shutting down.
	ErrDraining = errors.New("shutting down")
	// ErrQueueFull: too many runs, too many waiting.
	ErrQueueFull = errors.New("too many agents are running")
	// ErrConversationBusy: too many requests are waiting for this conversation.
	ErrConversationBusy = errors.New("too many requests are waiting for this conversation")
	// ErrLedger: what the gateways share cannot be asked, or does not answer.
	ErrLedger = errors.New("the shared state does not answer")
	// ErrTakenOver: another gateway has the run. A client that asks again gets its answer.
	ErrTakenOver = errors.New("another gateway has taken the request over")
	// ErrReleased: this gateway is shutting down. Another one has the run, or its place in the
	// queue, for a client that asks again.
	ErrReleased = errors.New("shutting down; another gateway continues the request")
	// ErrKeyConflict: the idempotency key was used for a different request.
	ErrKeyConflict = errors.New("the idempotency key was used for a different request")
	// ErrRecord: the record of an idempotency key cannot be kept, so the run
	// was not started.
	ErrRecord = errors.New("cannot store the record of the idempotency key")
	// ErrState: the state directory cannot be written, or read, and what is
	// promised could not be kept, so the run was not started.
	ErrState = errors.New("the state directory cannot be used")
)

// Ends of a job that no backend tells.
var (
	// ErrInterrupted: a run that was going on when the gateway stopped, by a
	// crash or because it was told to.
	ErrInterrupted = errors.New("the run was interrupted when the gateway stopped")
	// ErrAbandoned: no client was there to read the answer. A client that comes
	// later with the idempotency key of the run gets this error.
	ErrAbandoned = errors.New("the run was stopped because its client disconnected")
	// ErrForm is the kind of the error of [Request.Form]: the turn has an answer,
	// but not in the form that was asked for.
	ErrForm = errors.New("the answer is not in the form that was asked for")
)

// errForeign refuses a conversation that the token may not enter.
var errForeign = &agentapi.Error{
	Kind: agentapi.ErrConversationNotFound,
	Msg:  "This API key has no such conversation; leave the id out to start a new one.",
}

// WorkspaceError refuses a conversation that works in another directory than the
// one that the client named.
type WorkspaceError struct {
	Have     string
	ReadOnly bool // and it does not change the files there
}

// Error says where the conversation works.
func (e *WorkspaceError) Error() string { return "the conversation works in " + e.Have }

// SwitchError is why a conversation that goes on cannot be answered by the model that
// the request asks for.
type SwitchError struct{ Err error }

// Error is that of the backend.
func (e *SwitchError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the backend.
func (e *SwitchError) Unwrap() error { return e.Err }

func switchError(err error) error {
	if err == nil {
		return nil
	}
	return &SwitchError{Err: err}
}

// ErrConfirmation refuses a lower confirmation mode than the request may choose.
var ErrConfirmation = errors.New("the confirmation mode may not be lowered")

// ErrFloor ends a request whose token needs a confirmation mode that the backend
// cannot set.
var ErrFloor = errors.New("the lowest confirmation mode of the token cannot be set")

// TimeoutError is the end of a run that took longer than it was allowed.
type TimeoutError struct{ After time.Duration }

// Error says how long the run was allowed to take.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the run was stopped after %s", e.After)
}

// guard calls f for a conversation. A panic of it is logged and goes no
// further: nothing that waits for the job waits for f.
func (c Config) guard(id string, f func()) {
	c.broken(id, rescue.Do(func() error { f(); return nil }))
}

// broken logs err if it is a panic. Everything else is told by whoever has it.
func (c Config) broken(id string, err error) {
	if p := rescue.Of(err); p != nil {
		c.Logger.Error("panic", "conversation_id", id, "panic", p.Error(), "stack", p.Stack())
	}
}
