package conversation

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
)

// keyPending is the member of a base state's agent_state that keeps what sub-agents
// wait for.
const keyPending = "ohgw_waiting"

// pending is what one open call of a tool waits for: actions of a sub-agent that a
// person has to confirm. It is kept until the call has its result.
type pending struct {
	Label   string        `json:"label"`
	Actions []event.Event `json:"actions"`
	// Rejected is why a person refused them; nil: nobody has answered, or agreed.
	Rejected *string `json:"rejected,omitempty"`
}

// loadPending reads what the base state says. What cannot be read waits for nothing.
func (c *Conversation) loadPending() {
	c.pending = make(map[string]*pending)
	var kept struct {
		Pending map[string]*pending `json:"ohgw_waiting"`
	}
	if err := json.Unmarshal(c.dir.State.AgentState, &kept); err != nil {
		return
	}
	for id, p := range kept.Pending {
		if p != nil {
			c.pending[id] = p
		}
	}
}

// keepPending has the next base state say what calls wait for.
func (c *Conversation) keepPending() error {
	return c.remember(keyPending, c.pending, len(c.pending) > 0)
}

// remember sets a member of the agent's state, or removes it.
func (c *Conversation) remember(key string, value any, is bool) error {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(c.dir.State.AgentState, &all); err != nil || all == nil {
		all = map[string]json.RawMessage{}
	}
	delete(all, key)
	if is {
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode %s: %w", key, err)
		}
		all[key] = data
	}
	data, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode agent_state: %w", err)
	}
	c.dir.State.AgentState = data
	return nil
}

// waitFor leaves a call open until a person has answered.
func (c *Conversation) waitFor(action string, w *tool.WaitingError) error {
	c.pending[action] = &pending{Label: c.cfg.Secrets.Mask(w.Label), Actions: w.Actions}
	return c.keepPending()
}

// settlePending forgets what a call that has its result waited for.
func (c *Conversation) settlePending(action string) error {
	if c.pending[action] == nil {
		return nil
	}
	delete(c.pending, action)
	return c.keepPending()
}

// decision is a person's answer to what a call waits for; nil if it waits for nothing.
func (c *Conversation) decision(action string) *tool.Decision {
	p := c.pending[action]
	switch {
	case p == nil:
		return nil
	case p.Rejected != nil:
		return &tool.Decision{Reason: *p.Rejected}
	}
	return &tool.Decision{Accept: true}
}

// rejected reports whether a call waits to tell a sub-agent that a person has refused
// its actions: that is done with the next run.
func (c *Conversation) rejected(action string) bool {
	p := c.pending[action]
	return p != nil && p.Rejected != nil
}

// asked are the actions of sub-agents that a person has to answer, in the order of
// the calls.
func (c *Conversation) asked() (list []event.PendingAction) {
	if c.dir.State.Status != event.Waiting {
		return nil
	}
	for _, e := range c.open {
		p := c.pending[e.ID]
		if p == nil || p.Rejected != nil {
			continue
		}
		for _, action := range p.Actions {
			list = append(list, event.PendingAction{Label: p.Label, Action: action})
		}
	}
	return list
}

// Unanswered are the actions that have no result, without the values of secrets.
func (c *Conversation) Unanswered(ctx context.Context) (actions []event.Event, err error) {
	err = c.do(ctx, func() {
		for _, e := range c.open {
			actions = append(actions, event.New(e.ID, e.Timestamp, e.Source, e.ParentID, masked(c.cfg.Secrets, e.Body)))
		}
	})
	return actions, err
}
