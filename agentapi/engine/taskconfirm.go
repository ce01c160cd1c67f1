package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/subagent"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// callMark is how the conversation of a task remembers the parent's call that waits
// with it: tags are short, ids of calls need not be.
func callMark(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// suspend leaves a task waiting for a person. Its conversation stays open, so that
// it goes on as it is; who opens the parent later opens it again.
func (t *tasks) suspend(ctx context.Context, r taskRun) (*tool.WaitingError, error) {
	actions, err := r.conv.Unanswered(ctx)
	if err != nil {
		return nil, err
	}
	mark := callMark(r.call)
	err = r.conv.SetTags(ctx, func(now map[string]string) (all, shown map[string]string) {
		all = maps.Clone(now)
		all[tagCall] = mark
		return all, all
	})
	if err := errors.Join(err, t.spent(ctx, r)); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosed
	}
	r.state.call, r.state.conv = mark, r.conv
	return &tool.WaitingError{Label: r.label, Actions: actions}, nil
}

// goneText is what the model is told of a task that does not wait any more.
const goneText = "The sub-agent does not wait for a confirmation any more. What it wanted to do was not done; start the task again."

// goOn goes on with the task that waits for a person, who has answered.
func (t *tasks) goOn(ctx context.Context, a subagent.Args, call tool.Call) (subagent.Outcome, error) {
	id, state := t.waiting(callMark(call.ID))
	if state == nil {
		return subagent.Outcome{ID: "unknown", Text: goneText, Failed: true}, nil
	}
	defer t.end(state)
	r := taskRun{id: id, label: labelOf(id, a), call: call.ID, state: state}
	var err error
	if r.conv, err = t.reopen(ctx, state); err != nil {
		return subagent.Outcome{ID: id, Text: taskError(err), Failed: true}, nil
	}
	switch status, err := r.conv.Status(ctx); {
	case err != nil:
		return subagent.Outcome{ID: id, Text: taskError(errors.Join(err, r.conv.Close())), Failed: true}, nil
	case status != event.Waiting:
		return subagent.Outcome{ID: id, Text: goneText, Failed: true}, r.conv.Close()
	}
	var c agentapi.Conversation = t.handle(r)
	if !call.Decision.Accept {
		c = refusing{t.handle(r), call.Decision.Reason}
	}
	return t.run(ctx, r, c, turn.Input{Decision: &agentapi.Decision{Accept: true}})
}

// waiting finds the task that waits with a call, and has it.
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

// refusing is a conversation whose run begins with the refusal of what waits.
type refusing struct {
	*handle

	reason string
}

// Decide tells the sub-agent that its actions were refused, and has it go on.
func (r refusing) Decide(ctx context.Context, _ agentapi.Decision) error {
	if err := r.handle.Decide(ctx, agentapi.Decision{Reason: r.reason}); err != nil {
		return err
	}
	return r.explain(r.conv.Run(ctx))
}

// close closes the conversations of the tasks that wait. They wait on the disk.
func (t *tasks) close() error {
	t.mu.Lock()
	t.closed = true
	var errs []error
	for _, state := range t.known {
		if state.conv != nil {
			errs = append(errs, state.conv.Close())
			state.conv = nil
		}
	}
	t.mu.Unlock()
	return errors.Join(errs...)
}
