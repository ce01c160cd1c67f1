package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/agentapi/event"
)

// ErrNoEvent says that the log has no event with that id.
var ErrNoEvent = errors.New("no such event")

// Fork makes what another conversation begins with that knows this one up to the
// event from: the path to it, or with "" the whole log. The state is that of an idle
// conversation without statistics. Nothing is written.
func (d *Dir) Fork(id, from string) (State, []event.Event, error) {
	all, err := d.Events()
	if err != nil {
		return State{}, nil, err
	}
	leaf, events := d.Head(), all
	if from != "" {
		path := d.branch(from)
		if leaf, events = from, make([]event.Event, len(path)); len(path) == 0 {
			return State{}, nil, ErrNoEvent
		}
		for k, i := range path {
			events[k] = all[i]
		}
	}
	return d.State.forked(id, leaf, all, events), events, nil
}

// PeekFork makes a Fork of a conversation that may be open anywhere, up to what cut
// leaves of its log. The log has one branch.
func PeekFork(root, from, id string, cut func(log []event.Event) []event.Event) (State, []event.Event, error) {
	s, err := Peek(root, from)
	if err != nil {
		return State{}, nil, err
	}
	all, _, err := Page(root, from, "", false, math.MaxInt)
	if err != nil {
		return State{}, nil, err
	}
	events, leaf := cut(all), ""
	for _, e := range events {
		if _, state := e.Body.(*event.StateUpdate); !state {
			leaf = e.ID
		}
	}
	return s.forked(id, leaf, all, events), events, nil
}

// forked makes the state of a copy that has some of the events of a log.
func (s State) forked(id, leaf string, all, events []event.Event) State {
	s.ID, s.Status = id, event.Idle
	s.LeafEventID, s.HeadIsEmpty = leaf, leaf == "" && len(events) > 0
	s.Stats = NewState("", nil, "").Stats
	s.BlockedActions, s.BlockedMessages = map[string]string{}, map[string]string{}
	s.Tags, s.unknown = maps.Clone(s.Tags), maps.Clone(s.unknown)
	s.LastUserMessageID = ""
	known := make(map[string]bool, len(events))
	for _, e := range events {
		known[e.ID] = true
		if _, ok := e.Body.(*event.Message); ok && e.Source == event.SourceUser {
			s.LastUserMessageID = e.ID
		}
	}
	s.ActivatedSkills = activated(all, "activated_knowledge_skills", s.ActivatedSkills, known)
	s.ActivatedPathRules = activated(all, "activated_path_rules", s.ActivatedPathRules, known)
	s.InvokedSkills = slices.Clone(s.InvokedSkills)
	return s
}

// activated reads a list of the state as it was at the last of the events that are
// known: what was activated later is not in what they say. A log without events about
// the list has it as it is now.
func activated(log []event.Event, key string, now []string, known map[string]bool) []string {
	then, told := []string{}, false
	for _, e := range log {
		u, ok := e.Body.(*event.StateUpdate)
		if !ok || u.Key != key {
			continue
		}
		told = true
		var list []string
		if known[e.ParentID] && json.Unmarshal(u.Value, &list) == nil && list != nil {
			then = list
		}
	}
	if !told {
		return slices.Clone(now)
	}
	return then
}

// begin writes the events that a new conversation begins with.
func (d *Dir) begin(events []event.Event) error {
	if len(events) > 0 {
		if err := d.partial(); err != nil {
			return fmt.Errorf("copy events: %w", err)
		}
	}
	for _, e := range events {
		data, err := e.MarshalJSON() // not json.Marshal: it would change what was read
		if err != nil {
			return fmt.Errorf("copy event %s: %w", e.ID, err)
		}
		name := d.eventName(e.ID)
		path := filepath.Join(d.path, "events", name)
		if err := d.opts.Files.Write(path, data, false); err != nil {
			return fmt.Errorf("copy event %s: %w", e.ID, err)
		}
		d.unsynced = append(d.unsynced, unsynced{path: path})
		d.add(e, name)
	}
	d.loaded = events
	if len(events) > 0 {
		d.unsynced = append(d.unsynced, unsynced{path: d.eventsDir()})
	}
	return nil
}
