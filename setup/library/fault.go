package library

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/internal/fault"
)

// Fault explains a failure of a library to a person, with the next step.
func Fault(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	msg := agentapi.PublicMessage(err, "the conversation cannot be used")
	switch {
	case errors.Is(err, agentapi.ErrConversationNotFound):
		return &fault.Error{Msg: "there is no such conversation", Hint: "ohgw conversations list shows the ids", Err: err}
	case errors.Is(err, control.ErrTaken):
		return &fault.Error{Msg: "the conversation is there already", Hint: "remove it first: ohgw conversations remove ID", Code: fault.Conflict, Err: err}
	case errors.Is(err, agentapi.ErrBusy), errors.Is(err, agentapi.ErrLost):
		return &fault.Error{Msg: "another process has the conversation", Hint: "stop it, or wait until it closes the conversation", Code: fault.Conflict, Err: err}
	case errors.Is(err, control.ErrArchive):
		return &fault.Error{Msg: msg, Hint: "import a file that ohgw conversations export has written", Err: err}
	case errors.Is(err, agentapi.ErrUnavailable):
		return &fault.Error{Msg: msg, Hint: "ohgw doctor finds out why", Code: fault.Unreachable, Err: err}
	case errors.Is(err, context.Canceled):
		return err
	}
	return fault.New(msg, "run the command again with --debug to see the cause", err)
}
