package backendtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func streams() []behaviour {
	return []behaviour{
		{name: "EventsComeInTheOrderOfTheLog", check: checkOrder},
		{name: "DeltasComeBeforeTheirEvent", has: hasDeltas, check: checkDeltas},
		{name: "ReplayIsTheLogOnce", check: checkReplay},
		{name: "ReplayFromAnEventBringsWhatFollows", check: checkReplayAfter},
		{name: "EmptyReplayEndsInASnapshot", check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("hello"))
			c := s.open(t)
			say(t, c, "hi")
			log := replay(t, c, agentapi.FromStart)
			stream := watch(t, c, log[len(log)-1].ID)
			for i := range 2 {
				if e := next(t, stream); !isSnapshot(e) || statusOf(e) != event.Finished {
					t.Errorf("event %d is %s", i, describe(e))
				}
			}
		}},
		{name: "ReplayAfterAnUnknownEventIsRefused", check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("hello"))
			c := s.open(t)
			say(t, c, "hi")
			wantKind(t, streamError(t, c, "00000000-0000-4000-8000-000000000000"), agentapi.ErrRefused)
		}},
		{name: "TwoWatchersSeeTheSame", check: checkTwoWatchers},
		{name: "EndOfAWatchStopsNothing", check: checkWatchEnds},
		{name: "CanceledNextLosesNothing", check: checkCanceledNext},
		{name: "SlowWatcherLosesNothing", check: checkSlowWatcher},
		{name: "CloseOfAStreamWakesNext", check: func(t *testing.T, s *Setup) {
			stream := watch(t, s.open(t), "")
			next(t, stream)
			failed := make(chan error, 1)
			owned(t, func() {
				_, err := stream.Next(context.WithoutCancel(t.Context()))
				failed <- err
			})
			if err := stream.Close(); err != nil {
				t.Fatal(err)
			}
			if err := await(t, "error", failed); err == nil {
				t.Error("Next of a closed stream has no error")
			}
			if _, err := stream.Next(within(t, patience)); err == nil {
				t.Error("Next after Close has no error")
			}
		}},
	}
}

// streamError opens a stream that must fail, now or while it is read.
func streamError(t *testing.T, c agentapi.Conversation, after string) error {
	t.Helper()
	stream, err := c.Watch(within(t, patience), after)
	if err != nil {
		return err
	}
	defer stream.Close()
	for range 3 {
		if _, err := stream.Next(within(t, patience)); err != nil {
			return err
		}
	}
	return errors.New("the stream goes on")
}

// describe is an event in a few words.
func describe(e event.Event) string {
	if s, ok, _ := e.FullState(); ok {
		return "snapshot " + string(s.Status)
	}
	if s, ok := e.StatusUpdate(); ok {
		return "status " + string(s)
	}
	if u, ok := e.Body.(*event.StateUpdate); ok {
		return "state " + u.Key
	}
	return strings.TrimSuffix(e.Source+" "+e.Kind(), "Event")
}

// outline is the events of a log that the contract is about. Since OpenHands 1.54 the
// log also says what a security analyzer has found.
func outline(events []event.Event) []string {
	var lines []string
	for _, e := range events {
		line := describe(e)
		if strings.HasPrefix(line, "state ") || strings.HasSuffix(line, "StreamingDelta") || strings.HasSuffix(line, "SystemPrompt") || strings.HasSuffix(line, "SecurityAnalysis") {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// record sends a message and reads its events to the end of the run.
func record(t *testing.T, c agentapi.Conversation, text string) []event.Event {
	t.Helper()
	stream := watch(t, c, "")
	first := next(t, stream)
	if err := c.Send(within(t, patience), agentapi.Message{Text: text}); err != nil {
		t.Fatalf("Send: %v", err)
	}
	return append([]event.Event{first}, until(t, stream, ended())...)
}

// replay reads the log of a conversation that rests.
func replay(t *testing.T, c agentapi.Conversation, after string) []event.Event {
	t.Helper()
	stream := watch(t, c, after)
	if e := next(t, stream); !isSnapshot(e) {
		t.Errorf("a stream begins with %s", describe(e))
	}
	events := until(t, stream, isSnapshot)
	return events[:len(events)-1]
}

func checkOrder(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Tool("terminal", `{"command":"echo hi"}`), llmtest.Text("done"))
	want := []string{
		"snapshot idle", "user Message", "status running", "agent Action", "environment Observation",
		"agent Message", "status finished", "snapshot finished",
	}
	if diff := cmp.Diff(want, outline(record(t, s.open(t), "go"))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func checkDeltas(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("one two three"))
	var live strings.Builder
	for _, e := range record(t, s.open(t), "go") {
		switch b := e.Body.(type) {
		case *event.Delta:
			if b.Content != nil {
				live.WriteString(*b.Content)
			}
		case *event.Message:
			if e.Source == event.SourceAgent && live.String() != "one two three" {
				t.Errorf("before the message came %q", live.String())
			}
		}
	}
}

// ids are the events whose order is promised: state updates come from another
// thread of the server and may overtake each other.
func ids(events []event.Event) []string {
	var list []string
	for _, e := range events {
		if _, update := e.Body.(*event.StateUpdate); e.Persisted() && !update {
			list = append(list, e.ID)
		}
	}
	return list
}

// wantNoneTwice checks that no event with a place in the log comes twice.
func wantNoneTwice(t *testing.T, events []event.Event) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range events {
		if e.Persisted() && seen[e.ID] {
			t.Errorf("event %s (%s) comes twice", e.ID, describe(e))
		}
		seen[e.ID] = true
	}
}

func checkReplay(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Tool("terminal", `{"command":"echo hi"}`), llmtest.Finish("done"), llmtest.Text("again"))
	c := s.open(t)
	live := slices.Concat(record(t, c, "go"), record(t, c, "once more"))
	log := replay(t, c, agentapi.FromStart)
	wantNoneTwice(t, live)
	wantNoneTwice(t, log)
	if diff := cmp.Diff(ids(live), ids(log)); diff != "" {
		t.Errorf("live against replay (-live +replay):\n%s", diff)
	}
}

func checkReplayAfter(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("one"), llmtest.Text("two"))
	c := s.open(t)
	say(t, c, "first")
	say(t, c, "second")
	log := ids(replay(t, c, agentapi.FromStart))
	for _, at := range []int{0, len(log) / 2, len(log) - 2} {
		if diff := cmp.Diff(log[at+1:], ids(replay(t, c, log[at]))); diff != "" {
			t.Errorf("after event %d (-want +got):\n%s", at, diff)
		}
	}
}

func checkTwoWatchers(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Tool("terminal", `{"command":"echo hi"}`), llmtest.Text("done"))
	c := s.open(t)
	other := watch(t, s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), "")
	next(t, other)
	one := record(t, c, "go")
	two := until(t, other, ended())
	if diff := cmp.Diff(ids(one), ids(two)); diff != "" {
		t.Errorf("two watchers differ:\n%s", diff)
	}
}

func checkWatchEnds(t *testing.T, s *Setup) {
	hold, reply := gate()
	s.LLM.Reply(reply)
	c := s.open(t)
	stream := watch(t, c, "")
	next(t, stream)
	if err := c.Send(within(t, patience), agentapi.Message{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	request := s.LLM.Await(t, 1)
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	feed(t, hold, "I went on.")
	close(hold)
	if got := request.Wait(t); got != llmtest.Answered {
		t.Errorf("the model's request ended with %v", got)
	}
	res, err := turn.Follow(within(t, patience), c, turn.Baseline{After: agentapi.FromStart}, func(turn.Update) {}, nil)
	if err != nil || res.Answer != "I went on." {
		t.Errorf("Follow: %+v, %v", res, err)
	}
}

func checkCanceledNext(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("done"))
	c := s.open(t)
	stream := watch(t, c, "")
	next(t, stream)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := stream.Next(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("Next under a canceled context: %v", err)
	}
	if err := c.Send(within(t, patience), agentapi.Message{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"user Message", "status running", "agent Message", "status finished", "snapshot finished"}
	if diff := cmp.Diff(want, outline(until(t, stream, ended()))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func checkSlowWatcher(t *testing.T, s *Setup) {
	const words = 2000
	var text strings.Builder
	for i := range words {
		fmt.Fprintf(&text, "word%d ", i)
	}
	s.LLM.Reply(llmtest.Text(text.String()))
	c := s.open(t)
	stream := watch(t, c, "")
	next(t, stream)
	if err := c.Send(within(t, patience), agentapi.Message{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	// No caller reads while the model writes it all.
	s.LLM.Await(t, 1).Wait(t)
	var live, whole string
	for _, e := range until(t, stream, ended()) {
		switch b := e.Body.(type) {
		case *event.Delta:
			if b.Content != nil {
				live += *b.Content
			}
		case *event.Message:
			if e.Source == event.SourceAgent {
				whole = event.PlainText(b.LLMMessage.Content)
			}
		}
	}
	if strings.TrimSpace(whole) != strings.TrimSpace(text.String()) {
		t.Errorf("the message has %d bytes, want %d", len(whole), text.Len())
	}
	if live != "" && !strings.HasPrefix(text.String(), strings.TrimSpace(live)) {
		t.Errorf("the live text of %d bytes has gaps", len(live))
	}
}
