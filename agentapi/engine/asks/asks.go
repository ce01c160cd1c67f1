// Package asks keeps what the sub-agents of a conversation ask a person: actions that wait
// for a confirmation. The call of the agent that gave the task is open as long.
//
// They are stored with the conversation, so they wait over a restart. The package confirms
// nothing itself.
package asks

import (
	"encoding/json"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// member is where agent_state in a base state keeps them.
const member = "ohgw_waiting"

// Set has what the open calls of a conversation wait for. It belongs to the goroutine of the
// conversation.
type Set struct {
	asks    map[string]ask // by the id of the action that is open
	changed bool           // since it was stored
}

// ask is what one call waits for. The actions have no values of secrets.
type ask struct {
	Label   string        `json:"label"`
	Actions []event.Event `json:"actions"`
}

// Load reads what agent_state has. What cannot be read waits for nothing.
func (s *Set) Load(state json.RawMessage) {
	var kept map[string]json.RawMessage
	s.asks = nil
	if json.Unmarshal(state, &kept) != nil || json.Unmarshal(kept[member], &s.asks) != nil {
		s.asks = nil
	}
}

// Store puts them into agent_state, if they have changed.
func (s *Set) Store(state json.RawMessage) (json.RawMessage, error) {
	if !s.changed {
		return state, nil
	}
	all := map[string]json.RawMessage{}
	if json.Unmarshal(state, &all) != nil || all == nil {
		all = map[string]json.RawMessage{}
	}
	delete(all, member)
	if len(s.asks) > 0 {
		data, err := plainjson.Marshal(s.asks)
		if err != nil {
			return state, fmt.Errorf("encode what sub-agents wait for: %w", err)
		}
		all[member] = data
	}
	data, err := plainjson.Marshal(all)
	if err != nil {
		return state, fmt.Errorf("encode agent_state: %w", err)
	}
	s.changed = false
	return data, nil
}

// Wait leaves a call open until a person has answered the actions of its sub-agent.
func (s *Set) Wait(call, label string, actions []event.Event) {
	if s.asks == nil {
		s.asks = make(map[string]ask)
	}
	s.asks[call], s.changed = ask{label, actions}, true
}

// Has reports whether an open call waits for a person.
func (s *Set) Has(call string) bool {
	_, ok := s.asks[call]
	return ok
}

// Drop forgets what a call waited for, because it has its result.
func (s *Set) Drop(call string) {
	if s.Has(call) {
		delete(s.asks, call)
		s.changed = true
	}
}

// List has the actions that wait, in the order of the open calls.
func (s *Set) List(open []event.Event) (list []event.AskedAction) {
	for _, e := range open {
		of := s.asks[e.ID]
		for _, action := range of.Actions {
			list = append(list, event.AskedAction{Label: of.Label, Action: action})
		}
	}
	return list
}
