package delegation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/subagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// callMark is how the conversation of a task keeps the parent's call that waits with it: tags
// are short, and ids of calls need not be.
func callMark(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// suspend leaves a task waiting for a person. Its conversation is closed, and waits on the
// disk.
func (t *tasks) suspend(ctx context.Context, r taskRun) (*tool.WaitingError, error) {
	mark := callMark(r.call)
	err := r.conv.SetTags(ctx, func(now map[string]string) (all, shown map[string]string) {
		all = maps.Clone(now)
		all[tag.Call] = mark
		return all, tag.Others(all)
	})
	if err != nil {
		return nil, err
	}
	actions, err := t.unanswered(r.state.conversation)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r.state.call = mark
	return &tool.WaitingError{Label: r.label, Actions: actions}, nil
}

// scanWaiting is how many of the newest events may have actions that wait: those of one
// answer of a model.
const scanWaiting = 200

// unanswered reads the actions of a task that have no result, without the values of secrets.
func (t *tasks) unanswered(id string) ([]event.Event, error) {
	events, _, err := store.Page(t.root, id, "", true, scanWaiting)
	if err != nil {
		return nil, err
	}
	open := make(map[string]event.Event)
	var order []string
	for _, e := range slices.Backward(events) { // the newest comes first
		switch body := e.Body.(type) {
		case *event.Action:
			open[body.ToolCallID] = e
			order = append(order, body.ToolCallID)
		case *event.Observation:
			delete(open, body.ToolCallID)
		case *event.AgentError:
			delete(open, body.ToolCallID)
		case *event.UserReject:
			delete(open, body.ToolCallID)
		}
	}
	var list []event.Event
	for _, call := range order {
		if e, ok := open[call]; ok {
			list = append(list, e)
			delete(open, call)
		}
	}
	return list, nil
}

// goneText is what the model reads of a task that does not wait any more.
const goneText = "The sub-agent does not wait for a confirmation any more. What it wanted to do was not done; start the task again."

// goOn continues with the task that has waited for a person, who has confirmed its actions.
func (t *tasks) goOn(ctx context.Context, a subagent.Args, call tool.Call) (subagent.Outcome, error) {
	id, state := t.waiting(callMark(call.ID))
	if state == nil {
		return subagent.Outcome{ID: "unknown", Text: goneText, Failed: true}, nil
	}
	defer t.end(state)
	h, conv, err := t.enter(ctx, id, state.conversation, definition.Definition{Name: state.agent}, true)
	if err != nil {
		return subagent.Outcome{ID: id, Text: taskError(err), Failed: true}, nil
	}
	if status, err := conv.Status(ctx); err != nil || status != event.Waiting {
		o := subagent.Outcome{ID: id, Text: goneText, Failed: true}
		closed := conv.Close()
		if err != nil {
			o.Text, closed = taskError(errors.Join(err, closed)), nil
		}
		o.Text += t.collect(ctx, state, a.Prompt)
		return o, closed
	}
	r := taskRun{id: id, label: t.label(id, state, a), call: call.ID, prompt: a.Prompt, state: state, conv: conv}
	return t.run(ctx, r, h, turn.Input{Decision: &agentapi.Decision{Accept: true}})
}

// waiting finds the task that waits with a call, and takes it.
func (t *tasks) waiting(mark string) (id string, state *taskState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, state := range t.known {
		if state.call == mark && !state.busy {
			state.busy, state.call = true, ""
			return id, state
		}
	}
	return "", nil
}
