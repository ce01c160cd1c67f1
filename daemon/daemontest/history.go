package daemontest

import (
	"context"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Began is when every conversation of a Backend was made.
func Began() time.Time { return time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC) }

// About implements [agentapi.Backend].
func (b *Backend) About(_ context.Context, id string) (agentapi.About, error) {
	c, err := b.known(id)
	if err != nil {
		return agentapi.About{}, err
	}
	return agentapi.About{ID: id, Created: Began(), Profile: c.about(false).Profile}, nil
}

// Events implements [agentapi.Backend].
func (b *Backend) Events(_ context.Context, id string, q agentapi.EventQuery) (agentapi.EventPage, error) {
	c, err := b.known(id)
	if err != nil {
		return agentapi.EventPage{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	log := slices.Clone(c.log)
	if q.Newest {
		slices.Reverse(log)
	}
	if q.From != "" {
		at := slices.IndexFunc(log, func(e event.Event) bool { return e.ID == q.From })
		if at < 0 {
			return agentapi.EventPage{}, agentapi.UnknownEvent(q.From)
		}
		log = log[at:]
	}
	page := agentapi.EventPage{Events: log[:min(len(log), q.Size())]}
	if len(log) > q.Size() {
		page.Next = log[q.Size()].ID
	}
	return page, nil
}

func (b *Backend) known(id string) (*conversation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down != nil {
		return nil, b.down
	}
	c, ok := b.convs[id]
	if !ok {
		return nil, notFound(id)
	}
	return c, nil
}

// Batch runs commands in one step, with what the agent says first: all begin
// before one of them ends.
func Batch(thought string, commands ...string) Step {
	return func(r *Run) bool {
		var bodies, results []event.Body
		for i, command := range commands {
			a := r.call("terminal", map[string]string{"command": command})
			if i == 0 {
				a.Thought = []event.Content{event.Text(thought)}
			}
			bodies = append(bodies, a)
			results = append(results, &event.Observation{
				ToolName: a.ToolName, ToolCallID: a.ToolCallID, Observation: encode(map[string]bool{"is_error": false}),
			})
		}
		return r.publish(append(bodies, results...)...)
	}
}

// Think runs a command that succeeds, with what the agent thinks first.
func Think(thought, command string) Step {
	return func(r *Run) bool {
		a := r.call("terminal", map[string]string{"command": command})
		a.ReasoningContent = thought
		return r.publish(a, &event.Observation{ToolName: a.ToolName, ToolCallID: a.ToolCallID, Observation: encode(map[string]bool{"is_error": false})})
	}
}

// Extensions implements [agentapi.Backend]: every conversation has those of Loaded.
func (b *Backend) Extensions(_ context.Context, id string) (agentapi.Extensions, error) {
	if _, err := b.known(id); err != nil {
		return agentapi.Extensions{}, err
	}
	if b.NoExtensions {
		return agentapi.Extensions{}, &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "This agent lists no MCP servers and skills."}
	}
	return b.Loaded, nil
}
