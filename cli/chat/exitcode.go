package chat

import (
	"github.com/ohgw/ohgw/cli/chat/answer"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/setup"
)

// exitCode returns the exit code for an error of the gateway: that of its code, or,
// where no answer came that ohgw wrote, that of the kind of the failure.
func exitCode(e *gateway.Error) fault.Code {
	switch e.Kind {
	case gateway.Unreachable, gateway.Stranger:
		return fault.Unreachable
	case gateway.Locked:
		return fault.Credential
	}
	return fault.OfGateway(e.Code)
}

// unfinished returns the error for a turn that did not come to its end, though nothing
// broke; its exit code is that of the status of the run.
func (c *session) unfinished(t answer.Turn) error {
	goOn := "continue with " + c.command() + " -p "
	if c.opts.model != "" && c.opts.model != demoModel {
		goOn += "--model " + c.opts.model + " "
	}
	goOn += "--conversation " + t.Conversation
	switch {
	case t.Status == "waiting_for_confirmation":
		return noAnswer("the agent is waiting for confirmation", goOn+` yes (or no)`)
	case t.Status == "paused" || t.Status == "cancelled":
		return noAnswer("the run was stopped early", goOn+` "go on"`)
	case t.Status == "refused":
		return noAnswer("the message was not answered, because a hook refused it", "send another message, or change the hook in ~/.openhands/hooks.json")
	case t.Status != "finished" && t.Finish == "length":
		return &fault.Error{Msg: "the run ended early: " + answer.Sentence(setup.Clean(t.Notice)), Hint: goOn + ` "go on"`, Code: fault.Budget}
	case t.Status != "finished":
		return noAnswer("the run ended early: "+answer.Sentence(setup.Clean(t.Notice)), goOn+` "go on"`)
	}
	return nil
}

// noAnswer returns the error for a run that ended without the answer.
func noAnswer(msg, hint string) *fault.Error {
	return &fault.Error{Msg: msg, Hint: hint, Code: fault.Agent}
}
