package turn_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// logOf is a backend that has only the log of one conversation.
type logOf struct {
	agentapi.Backend
	events []event.Event
	read   int // events that were read
}

func (l *logOf) Events(_ context.Context, _ string, q agentapi.EventQuery) (agentapi.EventPage, error) {
	at, step := 0, 1
	if q.Newest {
		at, step = len(l.events)-1, -1
	}
	for q.From != "" && l.events[at].ID != q.From {
		at += step
	}
	var page agentapi.EventPage
	for ; at >= 0 && at < len(l.events); at += step {
		if len(page.Events) == q.Size() {
			page.Next = l.events[at].ID
			break
		}
		page.Events = append(page.Events, l.events[at])
	}
	l.read += len(page.Events)
	return page, nil
}

func (l *logOf) add(source string, bodies ...event.Body) {
	for _, b := range bodies {
		l.events = append(l.events, event.New(fmt.Sprintf("e%d", len(l.events)), "2026-11-21T00:00:00.000000", source, "", b))
	}
}

func called(id string) *event.Action {
	return &event.Action{ToolName: "terminal", ToolCallID: id, Action: []byte(`{"command":"ls"}`)}
}

func status(s event.Status) *event.StateUpdate {
	return &event.StateUpdate{Key: event.KeyStatus, Value: []byte(`"` + s + `"`)}
}

// What became of a call without a result is said by what follows it.
func TestACallWithoutAResultHasAState(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		after []event.Body
		want  turn.CallState
	}{
		"a run that goes on":     {nil, turn.CallRunning},
		"a state that says so":   {[]event.Body{status(event.Running)}, turn.CallRunning},
		"a confirmation":         {[]event.Body{status(event.Waiting)}, turn.CallWaiting},
		"an interrupt":           {[]event.Body{&event.Interrupt{}, status(event.Paused)}, turn.CallInterrupted},
		"a failure":              {[]event.Body{&event.ConversationError{Code: "X"}}, turn.CallInterrupted},
		"a result":               {[]event.Body{&event.Observation{ToolName: "terminal", ToolCallID: "c1", Observation: []byte(`{}`)}}, turn.CallDone},
		"a result of another":    {[]event.Body{&event.Observation{ToolName: "terminal", ToolCallID: "c2", Observation: []byte(`{}`)}}, turn.CallRunning},
		"the end of a server":    {[]event.Body{status(event.Failed)}, turn.CallInterrupted},
		"a result far behind it": {append(make([]event.Body, 0), many(150, &event.Observation{ToolName: "terminal", ToolCallID: "c1", Observation: []byte(`{}`)})...), turn.CallDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &logOf{}
			l.add(event.SourceAgent, called("c1"))
			l.add(event.SourceEnvironment, tc.after...)
			for _, newest := range []bool{false, true} {
				items, more, err := turn.Items(t.Context(), l, "c", turn.ItemQuery{Details: true, Newest: newest, Limit: 1, After: turn.ItemRef{}})
				if newest && (name == "a failure" || name == "an interrupt") {
					continue // which is the newest item
				}
				if err != nil || len(items) != 1 || items[0].Call == nil || items[0].Call.State != tc.want {
					t.Errorf("newest %v: %+v, %v, %v", newest, items, more, err)
				}
			}
		})
	}
}

// A call that was left without a result is not running because a later turn is.
func TestACallOfAnEarlierTurnHasTheStateOfItsOwn(t *testing.T) {
	t.Parallel()
	said := func(role, text string) event.Body {
		return &event.Message{LLMMessage: event.LLMMessage{Role: role, Content: []event.Content{event.Text(text)}}}
	}
	const user, agent, environment = event.SourceUser, event.SourceAgent, event.SourceEnvironment
	type step struct {
		source string
		body   event.Body
	}
	next := []step{{user, said("user", "and now?")}, {environment, status(event.Running)}}
	for name, tc := range map[string]struct {
		steps []step
		want  turn.CallState
	}{
		"a run that thinks":           {[]step{{agent, said("assistant", "hm")}}, turn.CallInterrupted},
		"a call that runs":            {[]step{{agent, called("c2")}}, turn.CallInterrupted},
		"a call that waits":           {[]step{{agent, called("c2")}, {environment, status(event.Waiting)}}, turn.CallInterrupted},
		"two turns later":             {append([]step{{agent, said("assistant", "yes")}, {environment, status(event.Finished)}}, next...), turn.CallInterrupted},
		"what was left is done first": {nil, turn.CallRunning},
	} {
		for ending, ended := range map[string][]step{
			"killed": nil, "failed": {{environment, status(event.Failed)}}, "paused": {{user, &event.Pause{}}, {environment, status(event.Paused)}},
		} {
			l := &logOf{}
			l.add(user, said("user", "go"))
			l.add(environment, status(event.Running))
			l.add(agent, called("c1"))
			for _, s := range slices.Concat(ended, next, tc.steps) {
				l.add(s.source, s.body)
			}
			for _, newest := range []bool{false, true} {
				items, _, err := turn.Items(t.Context(), l, "c", turn.ItemQuery{Details: true, Newest: newest, Limit: 99})
				i := slices.IndexFunc(items, func(it turn.Item) bool { return it.Event == "e2" })
				if err != nil || i < 0 || items[i].Call.State != tc.want {
					t.Errorf("%s, %s, newest %v: %+v, %v", name, ending, newest, items, err)
				}
			}
		}
	}
}

// many is n state updates and then last.
func many(n int, last event.Body) (bodies []event.Body) {
	for range n {
		bodies = append(bodies, status(event.Running))
	}
	return append(bodies, last)
}

// A page of a long conversation reads a part of its log, unless there is nothing
// to list in it.
func TestAPageReadsAPartOfTheLog(t *testing.T) {
	t.Parallel()
	l := &logOf{}
	for range 2000 {
		l.add(event.SourceUser, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: []event.Content{event.Text("go")}}})
		l.add(event.SourceAgent, called("c1"), &event.Observation{ToolName: "terminal", ToolCallID: "c1", Observation: []byte(`{}`)})
		l.add(event.SourceAgent, &event.Message{LLMMessage: event.LLMMessage{Role: "assistant", Content: []event.Content{event.Text("done")}}})
	}
	items, more, err := turn.Items(t.Context(), l, "c", turn.ItemQuery{Newest: true, Limit: 20})
	if err != nil || !more || len(items) != 20 || l.read > 200 {
		t.Errorf("%d items, more %v, %d events read, %v", len(items), more, l.read, err)
	}
	quiet := &logOf{}
	quiet.add(event.SourceEnvironment, many(9999, called("c1"))...)
	if items, more, err := turn.Items(t.Context(), quiet, "c", turn.ItemQuery{Limit: 20}); err != nil || more || len(items) != 0 {
		t.Errorf("the items: %v, more %v, %v", items, more, err)
	}
}

// A turn that was stopped says so, with or without a part of an answer.
func TestAStoppedTurnIsToldLater(t *testing.T) {
	t.Parallel()
	for name, said := range map[string][]event.Body{
		"nothing was stored": nil,
		"a call was made":    {called("c1"), &event.AgentError{ToolName: "terminal", ToolCallID: "c1", Error: "stopped"}},
	} {
		l := &logOf{}
		l.add(event.SourceUser, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: []event.Content{event.Text("go")}}})
		l.add(event.SourceAgent, said...)
		l.add(event.SourceUser, &event.Interrupt{})
		for _, details := range []bool{true, false} {
			items, _, err := turn.Items(t.Context(), l, "c", turn.ItemQuery{Details: details, Limit: 9})
			if err != nil || len(items) == 0 {
				t.Fatal(items, err)
			}
			if last := items[len(items)-1]; (last.Kind == turn.ItemFailure) != details {
				t.Errorf("%s, details %v: %+v", name, details, items)
			}
		}
	}
}
