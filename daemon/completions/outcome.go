package completions

import (
	"encoding/json"
	"errors"
	"math"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/metrics"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
)

// The values of the header X-OpenHands-Run-Status.
const (
	statusFinished  = "finished"
	statusError     = "error"
	statusStuck     = "stuck"
	statusPaused    = "paused"
	statusWaiting   = "waiting_for_confirmation"
	statusTimeout   = "timeout"
	StatusCancelled = "cancelled"
	statusRefused   = "refused"
)

// Ending is how a turn ends on the wire: in an answer, or in a problem.
type Ending struct {
	Status  string // of the run; empty if it never began
	Problem *gate.Problem
	// The rest is for answers.
	Finish string
	notice string // what the agent did not say and the person must know
	detail string // all of what the notice says in short; for the text only
	Usage  openai.Usage
	cost   float64 // US dollars; 0 if the cost is not known
	Answer string
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
	goal    *openai.GoalEnd  // nil: the message had none
}

// EndingOf reads the end of a turn.
func EndingOf(res turn.Result, err error) Ending {
	u := res.Usage
	e := Ending{
		Status: statusFinished, Finish: openai.FinishStop, Answer: res.Answer,
		Usage:   openai.NewUsage(u.PromptTokens, u.CompletionTokens, u.CachedTokens, u.ReasoningTokens),
		cost:    math.Round(u.Cost*1e9) / 1e9, // it is a difference, with the noise of one
		blocked: res.Blocked,
	}
	if g := res.Goal; g != nil {
		e.goal = &openai.GoalEnd{Status: g.Status, Rounds: g.Rounds, MaxRounds: g.Most, Missing: g.Missing}
	}
	if err != nil {
		e.Problem = gate.Explain(err)
		e.Status = statusOf(e.Problem.Wire.Code)
		return e
	}
	switch res.Outcome {
	case turn.Finished:
		if res.Cut {
			e.Finish = openai.FinishLength
		}
	case turn.Failed:
		e.Status = statusError
		e.failed(res)
	case turn.Stuck:
		e.Status = statusStuck
		e.Problem = gate.NewProblem(gate.CodeRunStuck, "The agent repeated itself and was stopped. Send a message that says what to do differently.", nil)
	case turn.Paused:
		e.Status = statusPaused
		e.notice = "The run was paused. Send another message to this conversation to continue."
	case turn.Interrupted:
		e.Status = StatusCancelled
		e.notice = "The run was interrupted. Send another message to this conversation to continue."
	case turn.Refused:
		e.Status = statusRefused
		e.notice = "A hook refused the message: " + res.Refusal
	case turn.Waiting:
		e.Status = statusWaiting
		e.notice, e.detail = waitingNotice(res.Waiting), waitingDetail(res.Waiting)
		for _, a := range res.Waiting {
			e.waiting = append(e.waiting, openai.WaitingAction{Tool: a.Tool, Line: a.Line})
		}
	}
	return e
}

// failed reads why a run failed. A budget that was used up is the end of an
// answer, not a failure: what was done is worth reading.
func (e *Ending) failed(res turn.Result) {
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
	case cause.Code == "MaxIterationsReached" || cause.Code == agentapi.CodeBudget:
		e.Finish = openai.FinishLength
		e.notice = "The run reached its limit (" + strings.TrimSuffix(detail, ".") + "). Send another message to this conversation to continue."
	case cause.Code == agentapi.CodeSandbox:
		e.Problem = gate.NewProblem(gate.CodeSandbox, detail, why)
	case cause.Kind == turn.CauseLost:
		e.Problem = gate.NewProblem(gate.CodeServerLost, "The connection to the agent-server was lost during the run: "+detail, why)
	case strings.HasPrefix(cause.Code, "LLMContextWindowExceed"):
		e.Problem = contextFull(res.Actions > 0, detail, why)
	case cause.Kind == turn.CauseLLM:
		e.Problem = gate.NewProblem(gate.CodeLLM, "The model's provider failed ("+cause.Code+"): "+detail, why)
	default:
		e.Problem = gate.NewProblem(gate.CodeRunError, "The agent run failed: "+detail, why)
	}
}

// contextFull has one code for a client, and the status of what was done before: a run
// that has acted is not an invalid request, and is not to be repeated.
func contextFull(acted bool, detail string, why error) *gate.Problem {
	if !acted {
		return gate.NewProblem(gate.CodeContextLength, "The message does not fit into the model's context: "+detail, why).About("messages")
	}
	p := gate.NewProblem(gate.CodeContextLength, "The run does not fit into the model's context any more: "+detail, why)
	p.Row = gate.RowOf(gate.CodeLLM)
	p.Wire.Type = p.Row.Kind
	return p
}

// statusOf is the run's status behind a problem that is not an outcome of it.
func statusOf(code string) string {
	switch code {
	case gate.CodeRunTimeout:
		return statusTimeout
	case gate.CodeRunInterrupted:
		return StatusCancelled
	case gate.CodeServerLost, gate.CodeAgentLost, gate.CodeReaderTooSlow, gate.CodeUnstructured:
		return statusError
	default:
		return "" // nothing was started, or that is not known
	}
}

// waitingNotice lists the actions that wait for confirmation, and how to confirm them.
func waitingNotice(actions []turn.Action) string {
	var b strings.Builder
	b.WriteString("The agent waits for your confirmation of:\n\n")
	for _, a := range actions {
		b.WriteString("- " + a.Line + "\n")
	}
	b.WriteString("\nAnswer with the single word \"yes\" to confirm or \"no\" to refuse. Any other message also refuses, and becomes the agent's next task. (Programs: " + gate.HeaderConfirm + ": accept or reject.)")
	return b.String()
}

// waitingDetail describes in full the actions of which the notice shows only a
// part: a user should not confirm a text that is cut off.
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
func (e Ending) text() string {
	if e.form {
		return e.Answer
	}
	added := e.Added()
	if e.Answer == "" || added == "" {
		return e.Answer + added
	}
	return e.Answer + "\n\n" + added
}

// Added is what comes behind the answer.
func (e Ending) Added() string {
	if e.detail == "" {
		return e.notice
	}
	return e.detail + "\n\n" + e.notice
}

// Extension reports what the header can no longer tell, and what the wire has no
// other place for; nil if there is nothing of that.
// Before is how much of the streamed text is not the answer.
func (e Ending) Extension(before int) *openai.Extension {
	told := !e.form || e.notice == "" || e.Refusal() != "" // the notice has another place
	if told && e.Status == statusFinished && e.cost == 0 && before == 0 && e.context == (openai.Context{}) && e.goal == nil && len(e.actions)+len(e.blocked) == 0 {
		return nil
	}
	return &openai.Extension{
		RunStatus: e.Status, Message: e.notice, TextBefore: before, Cost: e.cost, Waiting: e.waiting,
		Context: e.context, Goal: e.goal, Actions: e.actions, Blocked: encodeBlocks(e.blocked),
	}
}

// NewEnded returns run.Config's Ended: it counts a run that is over.
func NewEnded(core *gate.Core) func(run.Ended) {
	return func(e run.Ended) {
		u := e.Result.Usage
		core.Metrics.Run(metrics.Run{
			Profile: e.Profile, Outcome: outcome(e), Waited: e.Waited, Took: e.Took,
			Prompt: u.PromptTokens, Completion: u.CompletionTokens, Cached: u.CachedTokens, CacheWrite: u.CacheWriteTokens, Reasoning: u.ReasoningTokens,
			Cost: u.Cost,
		})
		lost := e.Err == nil && e.Result.Cause != nil && e.Result.Cause.Kind == turn.CauseLost
		switch {
		case lost:
			core.BackendFailed(agentapi.ErrLost)
		case e.Err != nil:
			core.BackendFailed(e.Err)
		}
	}
}

// outcome is how a run ended, in a word.
func outcome(e run.Ended) string {
	switch {
	case e.Left:
		return outcomeAbandoned
	case !e.Started:
		return outcomeNotStarted
	}
	return statusOr(EndingOf(e.Result, e.Err).Status)
}

// The outcomes of runs beyond the statuses of the header X-OpenHands-Run-Status.
const (
	outcomeAbandoned  = "abandoned"   // no client was there any more
	outcomeNotStarted = "not_started" // the backend refused, or was not there
)
