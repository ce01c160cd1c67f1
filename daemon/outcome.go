package daemon

import (
	"encoding/json"
	"errors"
	"math"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/openai"
)

// The values of the header X-OpenHands-Run-Status.
const (
	statusFinished  = "finished"
	statusError     = "error"
	statusStuck     = "stuck"
	statusPaused    = "paused"
	statusWaiting   = "waiting_for_confirmation"
	statusTimeout   = "timeout"
	statusCancelled = "cancelled"
	statusRefused   = "refused"
)

// ending is how a turn ends on the wire: in an answer, or in a problem.
type ending struct {
	status  string // of the run; empty if it never began
	problem *problem
	// The rest is for answers.
	finish string
	notice string // what the agent did not say and the person must know
	detail string // all of what the notice says in short; for the text only
	usage  openai.Usage
	cost   float64 // US dollars; 0 if nobody knows it
	answer string
	form   bool // the answer has a format, see formed
	// function is the client's function whose arguments the answer is; empty: it is
	// the content.
	function string
	// waiting are the actions that wait for a confirmation.
	waiting []openai.WaitingAction
	// context and actions are for clients that want details.
	context openai.Context
	actions []json.RawMessage
	blocked []agentapi.Block // what the sandbox refused
}

// endingOf reads the end of a turn.
func endingOf(res turn.Result, err error) ending {
	u := res.Usage
	e := ending{
		status: statusFinished, finish: openai.FinishStop, answer: res.Answer,
		usage:   openai.NewUsage(u.PromptTokens, u.CompletionTokens, u.CachedTokens, u.ReasoningTokens),
		cost:    math.Round(u.Cost*1e9) / 1e9, // it is a difference, with the noise of one
		blocked: res.Blocked,
	}
	if err != nil {
		e.problem = explain(err)
		e.status = statusOf(e.problem.wire.Code)
		return e
	}
	switch res.Outcome {
	case turn.Finished:
		if res.Cut {
			e.finish = openai.FinishLength
		}
	case turn.Failed:
		e.status = statusError
		e.failed(res)
	case turn.Stuck:
		e.status = statusStuck
		e.problem = newProblem(codeRunStuck, "The agent repeated itself and was stopped. Send a message that says what to do differently.", nil)
	case turn.Paused:
		e.status = statusPaused
		e.notice = "The run was paused. Send another message to this conversation to continue."
	case turn.Interrupted:
		e.status = statusCancelled
		e.notice = "The run was interrupted. Send another message to this conversation to continue."
	case turn.Refused:
		e.status = statusRefused
		e.notice = "A hook refused the message: " + res.Refusal
	case turn.Waiting:
		e.status = statusWaiting
		e.notice, e.detail = waitingNotice(res.Waiting), waitingDetail(res.Waiting)
		for _, a := range res.Waiting {
			e.waiting = append(e.waiting, openai.WaitingAction{Tool: a.Tool, Line: a.Line})
		}
	}
	return e
}

// failed reads why a run failed. A budget that was used up is the end of an
// answer, not a failure: what was done is worth reading.
func (e *ending) failed(res turn.Result) {
	cause := turn.Cause{}
	if res.Cause != nil {
		cause = *res.Cause
	}
	detail := cause.Detail
	if detail == "" {
		detail = "the agent-server gave no reason"
	}
	var why error // the detail may quote the prompt; the log gets the code
	if cause.Code != "" {
		why = errors.New(cause.Code)
	}
	switch {
	case cause.Code == "MaxIterationsReached" || cause.Code == "MaxBudgetReached":
		e.finish = openai.FinishLength
		e.notice = "The run reached its limit (" + detail + "). Send another message to this conversation to continue."
	case cause.Code == agentapi.CodeSandbox:
		e.problem = newProblem(codeSandbox, detail, why)
	case cause.Kind == turn.CauseLost:
		e.problem = newProblem(codeServerLost, "The connection to the agent-server was lost during the run: "+detail, why)
	case strings.HasPrefix(cause.Code, "LLMContextWindowExceed"):
		e.problem = contextFull(res.Actions > 0, detail, why)
	case cause.Kind == turn.CauseLLM:
		e.problem = newProblem(codeLLM, "The model's provider failed ("+cause.Code+"): "+detail, why)
	default:
		e.problem = newProblem(codeRunError, "The agent run failed: "+detail, why)
	}
}

// contextFull has one code for a client, and the status of what was done before: a run
// that has acted is not an invalid request, and is not to be repeated.
func contextFull(acted bool, detail string, why error) *problem {
	if !acted {
		return newProblem(codeContextLength, "The message does not fit into the model's context: "+detail, why).about("messages")
	}
	p := newProblem(codeContextLength, "The run does not fit into the model's context any more: "+detail, why)
	p.row = rowOf(codeLLM)
	p.wire.Type = p.row.kind
	return p
}

// statusOf is the run's status behind a problem that is not an outcome of it.
func statusOf(code string) string {
	switch code {
	case codeRunTimeout:
		return statusTimeout
	case codeRunInterrupted:
		return statusCancelled
	case codeServerLost, codeAgentLost, codeReaderTooSlow, codeUnstructured:
		return statusError
	default:
		return "" // nothing was started, or nobody knows
	}
}

// waitingNotice lists the actions that wait for confirmation, and how to confirm them.
func waitingNotice(actions []turn.Action) string {
	var b strings.Builder
	b.WriteString("The agent waits for your confirmation of:\n\n")
	for _, a := range actions {
		b.WriteString("- " + a.Line + "\n")
	}
	b.WriteString("\nAnswer with the single word \"yes\" to confirm or \"no\" to refuse. Any other message also refuses, and becomes the agent's next task. (Programs: " + headerConfirm + ": accept or reject.)")
	return b.String()
}

// waitingDetail is all of the actions of which the notice shows a part only:
// nobody should say yes to what is cut off.
func waitingDetail(actions []turn.Action) string {
	var b strings.Builder
	for _, a := range actions {
		if a.Detail == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		fence := "```"
		for strings.Contains(a.Detail, fence) {
			fence += "`"
		}
		b.WriteString("All of \"" + a.Line + "\" (" + a.Tool + "):\n\n" + fence + "\n" + a.Detail + "\n" + fence)
	}
	return b.String()
}

// text is the whole answer with its notice. Nothing is added to a document.
func (e ending) text() string {
	if e.form {
		return e.answer
	}
	added := e.added()
	if e.answer == "" || added == "" {
		return e.answer + added
	}
	return e.answer + "\n\n" + added
}

// added is what comes behind the answer.
func (e ending) added() string {
	if e.detail == "" {
		return e.notice
	}
	return e.detail + "\n\n" + e.notice
}

// extension reports what the header can no longer tell, and what the wire has no
// other place for; nil if there is nothing of that.
// Before is how much of the streamed text is not the answer.
func (e ending) extension(before int) *openai.Extension {
	told := !e.form || e.notice == "" || e.refusal() != "" // the notice has another place
	if told && e.status == statusFinished && e.cost == 0 && before == 0 && e.context == (openai.Context{}) && len(e.actions)+len(e.blocked) == 0 {
		return nil
	}
	return &openai.Extension{
		RunStatus: e.status, Message: e.notice, TextBefore: before, Cost: e.cost, Waiting: e.waiting,
		Context: e.context, Actions: e.actions, Blocked: encodeBlocks(e.blocked),
	}
}
