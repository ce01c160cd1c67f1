package conversation

import (
	"errors"
	"syscall"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/batch"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/masked"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// limitError is a limit of the run that was reached.
type limitError struct{ code, detail string }

func (e *limitError) Error() string { return e.code + ": " + e.detail }

// failed ends a run with an error. Where even that cannot be stored, it is
// published all the same: whoever waits for an answer must hear of it.
func (r *run) failed(err error) {
	r.cfg.Log.Warn("run failed", "conversation", r.branch.id, "err", r.cfg.Secrets.Mask(err.Error()))
	body := conversationError(err)
	if err := r.keepShown(); err != nil {
		r.cfg.Log.Warn("keep what was shown of an answer", "conversation", r.branch.id, "err", err)
	}
	status := r.branch.setStatus(event.Failed)
	_, told := r.branch.append(event.SourceEnvironment, body, durable)
	if status != nil || told != nil {
		r.live.publish(event.SourceEnvironment, masked.Body(r.cfg.Secrets, body))
	}
}

// invalidKey is the whole detail in OpenHands, by which clients know a refused key.
const invalidKey = "Your LLM API key appears to be invalid or has expired."

func conversationError(err error) *event.ConversationError {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		class, detail := e.Classification, e.Detail
		if e.Code == llm.CodeAuthentication && e.Status != 0 {
			detail = invalidKey + " " + detail
		}
		return &event.ConversationError{Code: e.Code, Detail: detail, Classification: &class}
	}
	class := &event.Classification{Kind: "internal", UserAction: "none"}
	if e, ok := errors.AsType[*limitError](err); ok {
		class.Kind = "agent_action"
		return &event.ConversationError{Code: e.code, Detail: e.detail, Classification: class}
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

// notRun is the result of a call that had no sandbox.
const notRun = "This was not run: the sandbox could not be started."

// unboxed says that err is that of a sandbox which could not be started.
func unboxed(err error) bool {
	_, ok := errors.AsType[*sandbox.UnavailableError](err)
	return ok
}

// sandboxError ends the run if one of its calls had no sandbox; nil otherwise.
func sandboxError(results []batch.Result) error {
	for _, r := range results {
		if unboxed(r.Err) {
			return noSandbox(r.Err)
		}
	}
	return nil
}

func noSandbox(err error) error {
	return &agentapi.Error{
		Kind: agentapi.ErrSandbox, Msg: "The sandbox of the agent cannot be started; nothing was done outside of it.", Err: err, InProcess: true,
	}
}
