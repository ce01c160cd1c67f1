package asks_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/asks"
	"github.com/ohgw/ohgw/agentapi/event"
)

func action(id string) event.Event {
	return event.New(id, "2026-01-01T00:00:00.000000", event.SourceAgent, "", &event.Action{ToolName: "terminal", ToolCallID: "call_" + id})
}

// TestWhatWaitsIsStoredBesideOtherMembers has calls wait, one of them answered.
func TestWhatWaitsIsStoredBesideOtherMembers(t *testing.T) {
	t.Parallel()
	var s asks.Set
	s.Load(json.RawMessage(`{"other":1}`))
	stored, err := s.Store(json.RawMessage(`{"other":1}`))
	if err != nil || string(stored) != `{"other":1}` {
		t.Errorf("nothing waits, and agent_state = %s, %v", stored, err)
	}
	s.Wait("b", "beta", []event.Event{action("b1")})
	s.Wait("c", "gamma", []event.Event{action("c1"), action("c2")})
	s.Wait("d", "delta", []event.Event{action("d1")})
	s.Drop("d")
	s.Drop("unknown")
	if stored, err = s.Store(stored); err != nil {
		t.Fatal(err)
	}
	var again asks.Set
	again.Load(stored)
	var got []string
	for _, a := range again.List([]event.Event{action("c"), action("a"), action("b"), action("d")}) {
		got = append(got, a.Label+" "+a.Action.ID)
	}
	if diff := cmp.Diff([]string{"gamma c1", "gamma c2", "beta b1"}, got); diff != "" {
		t.Error(diff)
	}
	again.Drop("b")
	again.Drop("c")
	if stored, err = again.Store(stored); err != nil || string(stored) != `{"other":1}` {
		t.Errorf("nothing waits any more, and agent_state = %s, %v", stored, err)
	}
}

// TestWhatCannotBeReadWaitsForNothing has states of other programs.
func TestWhatCannotBeReadWaitsForNothing(t *testing.T) {
	t.Parallel()
	for _, state := range []string{``, `null`, `[]`, `{"ohgw_waiting":[]}`, `{"ohgw_waiting":{"a":1}}`, `{"ohgw_waiting":{"a":{"actions":[{}]}}}`} {
		var s asks.Set
		s.Load(json.RawMessage(state))
		if s.Has("a") {
			t.Errorf("%q waits for something", state)
		}
		s.Wait("x", "x", nil)
		if _, err := s.Store(json.RawMessage(state)); err != nil {
			t.Errorf("%q: %v", state, err)
		}
	}
}
