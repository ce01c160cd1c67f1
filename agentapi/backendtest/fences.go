package backendtest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

func hasFenced(f Features) bool { return f.Fenced }

// fences lists what a conversation does that takes its message and its run apart.
func fences() []behaviour {
	stops := func(f Features) bool { return f.Fenced && f.Stop }
	return []behaviour{
		{name: "AppendStartsNothing", has: hasFenced, check: checkAppend},
		{name: "TwoMessagesAreOneRun", has: hasFenced, check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"))
			c := s.fenced(t)
			stream := watched(t, c)
			s.append(t, c, "go")
			s.append(t, c, "go")
			start(t, c)
			until(t, stream, ended())
			s.wantAsked(t, c, 1)
			if n := s.said(t, c, "go"); n != 2 {
				t.Errorf("the log has the message %d times", n)
			}
		}},
		{name: "StartTwiceIsOneRun", has: hasFenced, check: checkStartTwice},
		{name: "StartAfterTheEndRunsNothing", has: hasFenced, check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"))
			c := s.fenced(t)
			say(t, c, "go")
			start(t, c)
			s.wantAsked(t, c, 1)
		}},
		{name: "StartWithoutAMessageRunsNothing", has: hasFenced, check: func(t *testing.T, s *Setup) {
			c := s.fenced(t)
			start(t, c)
			s.wantAsked(t, c, 0)
		}},
		{name: "StartAcceptsNothing", needs: Needs{Confirm: true}, has: func(f Features) bool { return f.Fenced && f.Confirm }, check: checkStartWaiting},
		{name: "StartAfterAnInterruptRuns", has: stops, check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"))
			c := s.fenced(t)
			s.append(t, c, "go")
			if err := c.Interrupt(within(t, patience)); err != nil {
				t.Fatalf("Interrupt: %v", err)
			}
			s.wantAsked(t, c, 0)
			stream := watched(t, c)
			start(t, c)
			until(t, stream, ended())
			s.wantAsked(t, c, 1)
		}},
		{name: "StartWithoutRoomCanBeCalledAgain", needs: Needs{Alone: true}, has: func(f Features) bool { return f.Fenced && f.Room > 0 }, check: checkStartFull},
		{name: "AMessageOutlivesTheServerBeforeItsRun", needs: Needs{Kill: true}, has: func(f Features) bool { return f.Fenced && f.Kill }, check: checkStartLost},
		{name: "ATurnStopsAtItsFence", has: hasFenced, check: func(t *testing.T, s *Setup) {
			c := s.fenced(t)
			p := await(t, "turn", begin(t, c, turn.Input{Message: agentapi.Message{Text: "go"}, Fence: func(context.Context) error { return errOwner }}))
			if !errors.Is(p.err, errOwner) {
				t.Fatalf("the turn ended with %v, want %v", p.err, errOwner)
			}
			s.wantAsked(t, c, 0)
		}},
		{name: "ATurnLearnsLateThatItsRunIsNotItsOwn", has: stops, check: checkFenceFalls},
	}
}

// fenced makes a new conversation.
func (s *Setup) fenced(t *testing.T) agentapi.Fenced {
	t.Helper()
	return fencedOf(t, s.open(t))
}

func fencedOf(t *testing.T, c agentapi.Conversation) agentapi.Fenced {
	t.Helper()
	f, ok := c.(agentapi.Fenced)
	if !ok {
		t.Fatal("the conversation has no Append and no Start")
	}
	return f
}

func (*Setup) append(t *testing.T, c agentapi.Fenced, text string) {
	t.Helper()
	if err := c.Append(within(t, patience), agentapi.Message{Text: text}); err != nil {
		t.Fatalf("Append: %v", err)
	}
}

func start(t *testing.T, c agentapi.Fenced) {
	t.Helper()
	if err := c.Start(within(t, patience)); err != nil {
		t.Fatalf("Start: %v", err)
	}
}

// watched opens a stream, and reads the state with which it begins.
func watched(t *testing.T, c agentapi.Conversation) agentapi.Stream {
	t.Helper()
	stream := watch(t, c, "")
	next(t, stream)
	return stream
}

// said counts how often the log has a message of the user.
func (*Setup) said(t *testing.T, c agentapi.Conversation, text string) (n int) {
	t.Helper()
	for _, e := range replay(t, c, agentapi.FromStart) {
		m, ok := e.Body.(*event.Message)
		if ok && e.Source == event.SourceUser && strings.Contains(m.LLMMessage.Content[0].Text, text) {
			n++
		}
	}
	return n
}

// wantAsked checks how often the model was asked, once no run goes on any more.
func (s *Setup) wantAsked(t *testing.T, c agentapi.Conversation, want int) {
	t.Helper()
	waittest.Until(t, patience, "no run goes on", func() (any, bool) {
		state, err := c.State(within(t, patience))
		if err != nil {
			t.Fatal(err)
		}
		return state.Status, state.Status != event.Running
	})
	if got := len(s.LLM.Requests()); got != want {
		t.Errorf("the model was asked %d times, want %d", got, want)
	}
}

func checkAppend(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("one"))
	c := s.fenced(t)
	stream := watched(t, c)
	s.append(t, c, "go")
	until(t, stream, func(e event.Event) bool {
		_, ok := e.Body.(*event.Message)
		return ok && e.Source == event.SourceUser
	})
	state, err := c.State(within(t, patience))
	if err != nil || state.Status != event.Idle {
		t.Fatalf("after Append the status is %q, %v", state.Status, err)
	}
	s.wantAsked(t, c, 0)
	if n := s.said(t, c, "go"); n != 1 {
		t.Errorf("the log has the message %d times", n)
	}
	start(t, c)
	until(t, stream, ended())
	s.wantAsked(t, c, 1)
}

func checkStartTwice(t *testing.T, s *Setup) {
	hold, reply := gate()
	s.LLM.Reply(reply)
	c := s.fenced(t)
	stream := watched(t, c)
	s.append(t, c, "go")
	for range 2 {
		start(t, c)
	}
	feed(t, hold, "done")
	start(t, fencedOf(t, s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID})))
	close(hold)
	until(t, stream, ended())
	start(t, c)
	s.wantAsked(t, c, 1)
}

func checkStartWaiting(t *testing.T, s *Setup) {
	c := fencedOf(t, s.waiting(t))
	start(t, c)
	state, err := c.State(within(t, patience))
	if err != nil || state.Status != event.Waiting {
		t.Errorf("after Start the status is %q, %v", state.Status, err)
	}
	for _, e := range replay(t, c, agentapi.FromStart) {
		if _, ran := e.Body.(*event.Observation); ran {
			t.Error("the action was run")
		}
	}
}

// checkStartFull fills the backend with runs of other conversations.
func checkStartFull(t *testing.T, s *Setup) {
	made := s.open(t) // its creation takes room, too
	if err := made.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	release := s.fill(t)
	c := fencedOf(t, s.openAs(t, agentapi.OpenRequest{ID: made.Info().ID}))
	s.append(t, c, "go")
	err := c.Start(within(t, patience))
	full, ok := errors.AsType[*agentapi.FullError](err)
	if !errors.Is(err, agentapi.ErrFull) || !ok || !full.Stored {
		t.Fatalf("Start: %v, want %v with a stored message", err, agentapi.ErrFull)
	}
	s.LLM.Reply(llmtest.Text("one"))
	stream := watched(t, c)
	release()
	asked := 0
	if err := full.Again(within(t, patience), func(context.Context) error { asked++; return nil }); err != nil || asked == 0 {
		t.Fatalf("Again: %v, asked before %d attempts", err, asked)
	}
	until(t, stream, ended())
	start(t, c)
	s.wantAsked(t, c, s.has.Room+1)
	if n := s.said(t, c, "go"); n != 1 {
		t.Errorf("the log has the message %d times", n)
	}
}

// fill starts as many runs as the backend has room for. They end when they are released.
func (s *Setup) fill(t *testing.T) (release func()) {
	t.Helper()
	var holds []chan<- string
	for i := range s.has.Room {
		hold, reply := gate()
		holds = append(holds, hold)
		s.LLM.Reply(reply)
		c := s.open(t)
		if err := c.Send(within(t, patience), agentapi.Message{Text: "fill"}); err != nil {
			t.Fatalf("Send: %v", err)
		}
		s.LLM.Await(t, i+1)
	}
	return func() {
		for _, hold := range holds {
			feed(t, hold, "done")
			close(hold)
		}
	}
}

// checkStartLost lets the server die between a message and its run.
func checkStartLost(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("one"))
	c := s.fenced(t)
	s.append(t, c, "go")
	s.Kill(t)
	ctx := within(t, patience)
	wantKind(t, c.Start(ctx), agentapi.ErrUnavailable)
	wantKind(t, c.Append(ctx, agentapi.Message{Text: "again"}), agentapi.ErrUnavailable)
	s.Restart(t)
	c = fencedOf(t, s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}))
	stream := watched(t, c)
	start(t, c)
	until(t, stream, ended())
	s.wantAsked(t, c, 1)
	if n := s.said(t, c, "go"); n != 1 {
		t.Errorf("the log has the message %d times", n)
	}
}

var errOwner = errors.New("the run has another owner")

// checkFenceFalls: a driver that was frozen after its fence learns when it wakes that
// the run is not its own, and can stop it.
func checkFenceFalls(t *testing.T, s *Setup) {
	hold, reply := gate()
	defer close(hold)
	s.LLM.Reply(reply)
	c := s.fenced(t)
	p := await(t, "turn", begin(t, c, turn.Input{
		Message: agentapi.Message{Text: "go"},
		Fence:   func(context.Context) error { return nil },
		Started: func(ctx context.Context, interrupt func(context.Context) error) error {
			feed(t, hold, "half ") // the model was asked
			if err := interrupt(ctx); err != nil {
				t.Errorf("interrupt: %v", err)
			}
			return errOwner
		},
	}))
	if !errors.Is(p.err, errOwner) {
		t.Fatalf("the turn ended with %v, want %v", p.err, errOwner)
	}
	waittest.Until(t, patience, "the run without an owner is stopped", func() (any, bool) {
		state, err := c.State(within(t, patience))
		if err != nil {
			t.Fatal(err)
		}
		return state.Status, state.Status == event.Paused
	})
}
