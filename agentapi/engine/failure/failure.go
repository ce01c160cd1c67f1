// Package failure says why a run has failed, as the log of a conversation has it. Its words
// are for people who may be far from this machine, so they have no places of files.
package failure

import (
	"errors"
	"syscall"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// LimitError is a limit of a run that was reached.
type LimitError struct{ Code, Detail string }

func (e *LimitError) Error() string { return e.Code + ": " + e.Detail }

// invalidKey is the whole detail in OpenHands, by which clients know a refused key.
const invalidKey = "Your LLM API key appears to be invalid or has expired."

// Event makes the event for an error that has ended a run.
func Event(err error) *event.ConversationError {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		class, detail := e.Classification, e.Detail
		if e.Code == llm.CodeAuthentication && e.Status != 0 {
			detail = invalidKey + " " + detail
		}
		return &event.ConversationError{Code: e.Code, Detail: detail, Classification: &class}
	}
	class := &event.Classification{Kind: "internal", UserAction: "none"}
	if e, ok := errors.AsType[*LimitError](err); ok {
		class.Kind = "agent_action"
		return &event.ConversationError{Code: e.Code, Detail: e.Detail, Classification: class}
	}
	if e, ok := errors.AsType[*agentapi.Error](err); ok {
		class.Kind, class.UserAction = "config", "settings"
		if errors.Is(e, agentapi.ErrSandbox) {
			return &event.ConversationError{Code: agentapi.CodeSandbox, Detail: e.Msg, Classification: class}
		}
		return &event.ConversationError{Code: "ConversationRunError", Detail: e.Msg, Classification: class}
	}
	return &event.ConversationError{Code: "ConversationRunError", Detail: internalDetail(err), Classification: class}
}

// internalDetail says what kept the engine from going on, without the places of
// files: who reads it may be far from this machine.
func internalDetail(err error) string {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return "The conversation cannot be written to the disk of ohgw serve: " + e.Error() + ". Free disk space or make ohgw's state directory writable, then send another message."
	}
	return "The engine could not continue: " + err.Error()
}

// NotRun is the result of a call that had no sandbox.
const NotRun = "This was not run: the sandbox could not be started."

// Unboxed reports whether err is that of a sandbox which could not be started.
func Unboxed(err error) bool {
	_, ok := errors.AsType[*sandbox.UnavailableError](err)
	return ok
}

// NoSandbox returns the error of a run whose sandbox could not be started.
func NoSandbox(err error) error {
	return &agentapi.Error{
		Kind: agentapi.ErrSandbox, Msg: "The sandbox of the agent cannot be started; nothing was done outside of it.", Err: err, InProcess: true,
	}
}
