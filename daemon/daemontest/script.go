package daemontest

import (
	"context"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Run is a run while its script is played.
type Run struct {
	c        *conversation
	ctx      context.Context
	status   event.Status
	vanished bool
	calls    int
}

// Step is a part of a script. It returns false when the run is over.
type Step func(*Run) bool

func (r *Run) publish(bodies ...event.Body) bool {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.ctx.Err() != nil {
		return false
	}
	for _, b := range bodies {
		r.c.publish(event.SourceAgent, b)
	}
	return true
}

func (r *Run) call(tool string, action any) *event.Action {
	r.calls++
	id := fmt.Sprintf("call-%d", r.calls)
	return &event.Action{ToolName: tool, ToolCallID: id, Action: encode(action), ToolCall: event.ToolCall{ID: id, Name: tool, Arguments: string(encode(action))}}
}

// Delta writes a piece of text that belongs to what follows.
func Delta(text string) Step {
	return func(r *Run) bool { return r.publish(&event.Delta{Content: &text}) }
}

// Phase tells where the call of the model stands.
func Phase(p event.Phase) Step {
	return func(r *Run) bool {
		return r.publish(&event.StateUpdate{Key: event.KeyPhase, Value: encode(p)})
	}
}

// Retry announces a repeated request to the model's provider.
func Retry(r event.Retry) Step {
	return func(run *Run) bool {
		return run.publish(&event.StateUpdate{Key: event.KeyRetry, Value: encode(r)})
	}
}

// Say writes a whole text that is not the end.
func Say(text string) Step {
	return func(r *Run) bool {
		return r.publish(&event.Message{LLMMessage: event.LLMMessage{Role: "assistant", Content: []event.Content{event.Text(text)}}})
	}
}

// Cut writes an answer that the model's length limit cut off, and ends the run.
func Cut(text string) Step {
	return func(r *Run) bool {
		return r.publish(&event.Message{
			LLMMessage:      event.LLMMessage{Role: "assistant", Content: []event.Content{event.Text(text)}},
			ExtendedContent: event.CutMark(),
		})
	}
}

// Tool runs a command that succeeds.
func Tool(command string) Step {
	return func(r *Run) bool {
		a := r.call("terminal", map[string]string{"command": command})
		return r.publish(a, &event.Observation{ToolName: a.ToolName, ToolCallID: a.ToolCallID, Observation: encode(map[string]bool{"is_error": false})})
	}
}

// Call runs a tool with the fields of its action and of its observation.
func Call(tool string, action, observation map[string]any) Step {
	return func(r *Run) bool {
		a := r.call(tool, action)
		return r.publish(a, &event.Observation{ToolName: tool, ToolCallID: a.ToolCallID, Observation: encode(observation)})
	}
}

// Fill sets how many tokens of the model's context are used.
func Fill(tokens, window int64) Step {
	return func(r *Run) bool {
		r.c.mu.Lock()
		defer r.c.mu.Unlock()
		r.c.usage.PerTurnToken, r.c.usage.ContextWindow = tokens, window
		return true
	}
}

// Spend adds US dollars to what the conversation has cost.
func Spend(dollars float64) Step {
	return func(r *Run) bool { return r.spend(dollars, 0) }
}

// Use adds tokens of prompts to what the conversation has used.
func Use(tokens int64) Step {
	return func(r *Run) bool { return r.spend(0, tokens) }
}

func (r *Run) spend(dollars float64, tokens int64) bool {
	r.c.mu.Lock()
	r.c.cost, r.c.usage.PromptTokens = r.c.cost+dollars, r.c.usage.PromptTokens+tokens
	agent := map[string]any{"accumulated_cost": r.c.cost, "accumulated_token_usage": map[string]any{"prompt_tokens": r.c.usage.PromptTokens}}
	r.c.mu.Unlock()
	return r.publish(&event.StateUpdate{Key: event.KeyStats, Value: encode(map[string]any{"usage_to_metrics": map[string]any{"agent": agent}})})
}

// Finish ends the run with an answer.
func Finish(text string) Step {
	return func(r *Run) bool {
		r.publish(r.call("finish", map[string]string{"message": text}))
		r.status = event.Finished
		return false
	}
}

// Fail ends the run in an error.
func Fail(code, detail string) Step {
	return func(r *Run) bool {
		r.publish(&event.ConversationError{Code: code, Detail: detail})
		r.status = event.Failed
		return false
	}
}

// End ends the run with this status.
func End(s event.Status) Step {
	return func(r *Run) bool {
		r.status = s
		return false
	}
}

// Interrupted ends the run as an interrupt by another client does.
func Interrupted() Step {
	return func(r *Run) bool {
		r.publish(&event.Interrupt{})
		r.status = event.Paused
		return false
	}
}

// Confirm waits for a confirmation of a command; accepted, the rest follows.
func Confirm(command string) Step {
	return func(r *Run) bool {
		r.publish(r.call("terminal", map[string]string{"command": command}))
		r.status = event.Waiting
		return false
	}
}

// Wait does nothing for a while.
func Wait(d time.Duration) Step {
	return func(r *Run) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-r.ctx.Done():
			return false
		}
	}
}

// Until waits for a channel to be closed.
func Until(gate <-chan struct{}) Step {
	return func(r *Run) bool {
		select {
		case <-gate:
			return true
		case <-r.ctx.Done():
			return false
		}
	}
}

// Hang does nothing until it is interrupted.
func Hang() Step { return Until(nil) }

// Vanish loses the backend in the middle of the run.
func Vanish() Step {
	return func(r *Run) bool {
		r.c.mu.Lock()
		defer r.c.mu.Unlock()
		r.vanished = true
		for s := range r.c.streams {
			s.Fail(&agentapi.Error{Kind: agentapi.ErrLost, Msg: "The agent-server was lost and could not be restored."})
		}
		return false
	}
}

// Blocked says that the sandbox has refused something.
func Blocked(b agentapi.Block) Step {
	return func(r *Run) bool { return r.publish(&event.StateUpdate{Key: event.KeyBlock, Value: encode(b)}) }
}
