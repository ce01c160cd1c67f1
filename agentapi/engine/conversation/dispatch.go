package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/batch"
	"github.com/ohgw/ohgw/agentapi/engine/confirm"
	"github.com/ohgw/ohgw/agentapi/engine/failure"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/check"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/hookfile"
)

const finishTool = "finish"

// dispatch takes the tool calls of an answer: each becomes an action, and those that may
// run are run. Calls behind a finish are never made, because the model would not see their
// results.
func (r *run) dispatch(resp llm.Response) (outcome, error) {
	opts := check.Options{Analyzer: confirm.Analyzes(r.branch.dir.State.SecurityAnalyzer)}
	r.added = nil // no action is open
	var actions []event.Event
	for i, call := range resp.Message.ToolCalls {
		passed, refused := check.Call(call, r.agent.tools.Definitions(), opts)
		body := actionOf(resp, i)
		if refused != nil {
			if err := r.refuse(body, refused); err != nil {
				return more, err
			}
			continue
		}
		body.Action, body.ToolName, body.ToolCall = passed.Action, passed.Tool.Name, passed.Call
		body.SecurityRisk, body.Summary = passed.Risk, passed.Summary
		id := r.itemID()
		body.CriticResult = criticized(r, momentOf(body), id, body.Thought)
		if err := r.beforeTool(id, body, passed.Tool); err != nil {
			return more, err
		}
		if r.phase == stopping { // there is no action yet that an interrupt would have to answer
			return more, nil
		}
		e, err := r.branch.appendAs(id, event.SourceAgent, body, durable)
		if err != nil {
			return more, err
		}
		actions = append(actions, e)
		if passed.Tool.Name == finishTool {
			break
		}
	}
	if len(actions) == 0 {
		return more, nil
	}
	s := r.branch.dir.State
	if found := confirm.Analysis(s.ConfirmationPolicy, s.SecurityAnalyzer, actions); found != nil {
		if _, err := r.branch.append(event.SourceEnvironment, found, lazily); err != nil {
			return more, err
		}
	}
	if !r.cfg.Unasked && mustAsk(s, actions) {
		return waiting, nil
	}
	return r.execute(actions)
}

// actionOf is the part of an action that does not depend on its call. What the
// model said and thought before its calls stands with the first.
func actionOf(resp llm.Response, i int) *event.Action {
	call := resp.Message.ToolCalls[i]
	a := &event.Action{
		Thought: []event.Content{}, ThinkingBlocks: []json.RawMessage{}, SecurityRisk: tool.Risks[0],
		ToolName: call.Name, ToolCallID: call.ID, ToolCall: call, LLMResponseID: resp.ID,
	}
	if i == 0 {
		a.Thought = thought(resp.Message.Content)
		a.ReasoningContent, a.ResponsesReasoningItem = resp.Message.ReasoningContent, resp.Message.ResponsesReasoningItem
		a.ThinkingBlocks = list(resp.Message.ThinkingBlocks)
	}
	return a
}

// thought is the texts of an answer; a thought has nothing else.
func thought(content []event.Content) []event.Content {
	return list(slices.DeleteFunc(slices.Clone(content), func(item event.Content) bool {
		return item.Type != event.TypeText || item.Text == ""
	}))
}

func (r *run) refuse(body *event.Action, refusal *check.Refused) error {
	body.ToolName, body.ToolCall = refusal.ToolName, refusal.Call
	if _, err := r.branch.appendAs(r.itemID(), event.SourceAgent, body, durable); err != nil {
		return err
	}
	return r.branch.toolError(body, refusal.Message, agentAction)
}

// The classes of a call's failure.
var (
	agentAction = event.Classification{Kind: "agent_action", Retryable: true, UserAction: "retry"}
	internal    = event.Classification{Kind: "internal", UserAction: "none"}
)

// execute runs actions and records their results, in the order of the calls,
// when all of them are there. What an interrupt kept from ending stays open.
func (r *run) execute(open []event.Event) (outcome, error) {
	actions, err := r.branch.rejectBlocked(slices.Clone(open))
	if err != nil {
		return more, err
	}
	calls := r.agent.calls(actions)
	if !r.saved {
		if err := r.saveRunning(); err != nil {
			return more, err
		}
	}
	var results []batch.Result
	limit := r.cfg.Concurrency
	switch err := r.await(context.Background(), func(j *job) { results = batch.Run(j.ctx, calls, limit) }); {
	case errors.Is(err, errLeft):
		return more, nil
	case err != nil:
		return more, err
	}
	next := more
	for i, e := range actions {
		done, err := r.result(e, results[i])
		if err != nil {
			return more, err
		}
		switch {
		case r.asks.Has(e.ID) && !results[i].Interrupted:
			next = waiting
		case done && next == more:
			next = finished
		}
	}
	if next == finished {
		again, err := r.refine(actions[len(actions)-1].Body.(*event.Action))
		if again || err != nil {
			return more, err
		}
	}
	return next, sandboxError(results)
}

// sandboxError ends the run if one of its calls had no sandbox; nil otherwise.
func sandboxError(results []batch.Result) error {
	for _, r := range results {
		if failure.Unboxed(r.Err) {
			return failure.NoSandbox(r.Err)
		}
	}
	return nil
}

const concealedText = "This call was not run: its arguments contained the value of a secret, which is never stored, " +
	"and the conversation was closed before the call was confirmed. Make the call again, with the name of the secret, such as $NAME, in place of its value."

// calls makes calls of actions.
func (a *agent) calls(actions []event.Event) []batch.Call {
	calls := make([]batch.Call, len(actions))
	for i, e := range actions {
		calls[i] = a.call(e)
	}
	return calls
}

// call is an action that can be run. One whose tool is not there any more, or
// was never here, is answered in its place, and so is one whose arguments are
// not known any more.
func (a *agent) call(e event.Event) batch.Call {
	if a.branch.concealed[e.ID] {
		return batch.Call{Err: &tool.ArgumentError{Msg: concealedText}}
	}
	action := e.Body.(*event.Action)
	t, ok := a.tools.Named(action.ToolName)
	if !ok {
		text := fmt.Sprintf("The tool %q is not available here. The tools there are: %s.", action.ToolName, strings.Join(a.tools.Names(), ", "))
		return batch.Call{Err: &tool.ArgumentError{Msg: text}}
	}
	args, err := t.Definition().Args(action.Action)
	return batch.Call{Tool: telling{t, a.live}, Call: tool.Call{ID: action.ToolCallID, Args: args, Accepted: a.branch.asks.Has(e.ID)}, Err: err}
}

// result records what became of an action, and reports whether it was the end of
// the task.
func (r *run) result(e event.Event, res batch.Result) (done bool, err error) {
	a := e.Body.(*event.Action)
	waits, isWaiting := errors.AsType[*tool.WaitingError](res.Err)
	switch {
	case isWaiting && !res.Interrupted:
		r.asks.Wait(e.ID, r.cfg.Secrets.Mask(waits.Label), waits.Actions)
		return false, nil
	case res.Interrupted && res.Output != "" && r.door.lost == nil:
		return false, r.branch.toolError(a, stopped.text+" What it had written by then:\n"+res.Output, stopped.class)
	case res.Interrupted:
		return false, nil // repair answers it
	case res.Err != nil:
		text, class := "The tool could not be run: "+res.Err.Error(), internal
		if bad, ok := errors.AsType[*tool.ArgumentError](res.Err); ok {
			text, class = bad.Msg, agentAction
		}
		if failure.Unboxed(res.Err) {
			text = failure.NotRun
		}
		return false, r.branch.toolError(a, text, class)
	}
	results, err := r.hooked(hook.Event{Type: hookfile.PostToolUse, Tool: a.ToolName, Input: a.Action, Response: res.Result.Observation}, e.ID, "")
	if err != nil {
		return false, err
	}
	added := append(texts(r.added[e.ID]), texts(contexts(results))...) // by hooks before the action, and behind it
	extended, activated := r.cfg.Prompt.Path(pathOf(a.Action), r.branch.dir.State.ActivatedPathRules)
	err = r.branch.observe(&event.Observation{
		ToolName: a.ToolName, ToolCallID: a.ToolCallID, Observation: res.Result.Observation,
		ActionID: e.ID, ExtendedContent: list(append(extended, added...)),
	}, activated)
	return a.ToolName == finishTool && !res.Result.IsError, err
}

// observe appends the result of an action. The rules for paths that came with it are active
// from now on.
func (b *branch) observe(o *event.Observation, rules []string) error {
	if _, err := b.append(event.SourceEnvironment, o, durable); err != nil || len(rules) == 0 {
		return err
	}
	s := &b.dir.State
	s.ActivatedPathRules = append(s.ActivatedPathRules, rules...)
	return b.update("activated_path_rules", s.ActivatedPathRules)
}

// pathOf is the file that an action is about; empty for none.
func pathOf(action json.RawMessage) string {
	var in struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(action, &in) != nil {
		return ""
	}
	return in.Path
}

// render is what a model is shown of a stored observation; see [view.Render].
// What cannot be read shows nothing.
func render(observation json.RawMessage) ([]event.Content, bool) {
	content, isError, err := tool.Content(observation)
	if err != nil {
		return nil, false
	}
	for i := range content {
		content[i].Text = llm.ShortenResult(content[i].Text)
	}
	return content, isError
}
