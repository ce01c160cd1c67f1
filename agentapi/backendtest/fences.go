package backendtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// State is that of the gateways that backends are made for which are [agentapi.Marked].
const State = "5f0c6c1e-8a53-4f0e-9d5e-3d9a4c3f7a10"

func hasFenced(f Features) bool { return f.Fenced }

// checkStrangers looks from gateways with the same state and with another one.
func checkStrangers(t *testing.T, s *Setup) {
	t.Helper()
	b, ok := s.Backend.(agentapi.Marked)
	if !ok {
		t.Skip("the backend notes no state")
	}
	s.open(t)
	for _, look := range []struct {
		state string
		since time.Duration
		found bool
	}{{"another", -time.Hour, true}, {"another", 24 * time.Hour, false}, {State, -time.Hour, false}} {
		list, err := b.Strangers(within(t, patience), look.state, time.Now().Add(look.since))
		if err != nil || (len(list) > 0) != look.found {
			t.Errorf("for %s since %v: %q, %v", look.state, look.since, list, err)
		}
	}
}

func fences() []behaviour {
	return []behaviour{
		{name: "AppendStartsNothing", has: hasFenced, check: checkAppend},
		{name: "GatewaysWithAnotherStateAreFound", has: hasFenced, check: checkStrangers},
		{name: "StartTwiceIsOneRun", has: hasFenced, check: checkStartTwice},
		{name: "StartAfterTheEndRunsNothing", has: hasFenced, check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"))
			c := s.fenced(t)
			say(t, c, "go")
			if err := c.Start(within(t, patience)); err != nil {
				t.Fatalf("Start: %v", err)
			}
			s.wantAsked(t, c, 1)
		}},
		{name: "ATurnStopsAtItsFence", has: hasFenced, check: checkFenceHolds},
		{name: "ATurnIsToldOfAFenceThatFellLate", has: func(f Features) bool { return f.Fenced && f.Stop }, check: checkFenceFalls},
		{name: "ResumeSendsWhatDidNotArrive", has: hasFenced, check: func(t *testing.T, s *Setup) {
			s.resumes(t, func(agentapi.Fenced) {})
		}},
		{name: "ResumeStartsWhatWasAppended", has: hasFenced, check: func(t *testing.T, s *Setup) {
			s.resumes(t, func(c agentapi.Fenced) {
				if err := c.Append(within(t, patience), agentapi.Message{Text: "go"}); err != nil {
					t.Fatalf("Append: %v", err)
				}
			})
		}},
		{name: "ResumeReadsATurnThatIsOver", has: hasFenced, check: func(t *testing.T, s *Setup) {
			s.resumes(t, func(c agentapi.Fenced) { say(t, c, "go") })
		}},
		{name: "ResumeReadsATurnWhoseMessageCameTwice", has: hasFenced, check: func(t *testing.T, s *Setup) {
			s.resumes(t, func(c agentapi.Fenced) {
				say(t, c, "go")
				if err := c.Append(within(t, patience), agentapi.Message{Text: "go"}); err != nil {
					t.Fatalf("Append: %v", err)
				}
			})
		}},
		{name: "ResumeReadsATurnThatWasInterruptedAfterItsEnd", has: func(f Features) bool { return f.Fenced && f.Stop }, check: func(t *testing.T, s *Setup) {
			s.resumes(t, func(c agentapi.Fenced) {
				say(t, c, "go")
				if err := errors.Join(c.Append(within(t, patience), agentapi.Message{Text: "go"}), c.Interrupt(within(t, patience))); err != nil {
					t.Fatalf("Append, Interrupt: %v", err)
				}
			})
		}},
		{name: "ResumeFollowsARun", has: hasFenced, check: checkResumeRunning},
	}
}

// fenced makes a new conversation.
func (s *Setup) fenced(t *testing.T) agentapi.Fenced {
	t.Helper()
	c, ok := s.open(t).(agentapi.Fenced)
	if !ok {
		t.Fatal("the conversation has no Append and no Start")
	}
	return c
}

// wantAsked checks how often the model was asked, once no run goes on any more.
func (s *Setup) wantAsked(t *testing.T, c agentapi.Conversation, want int) {
	t.Helper()
	for {
		state, err := c.State(within(t, patience))
		if err != nil {
			t.Fatal(err)
		}
		if state.Status != event.Running {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if got := len(s.LLM.Requests()); got != want {
		t.Errorf("the model was asked %d times, want %d", got, want)
	}
}

func checkAppend(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("one"))
	c := s.fenced(t)
	stream := watch(t, c, "")
	next(t, stream)
	if err := c.Append(within(t, patience), agentapi.Message{Text: "go"}); err != nil {
		t.Fatalf("Append: %v", err)
	}
	until(t, stream, func(e event.Event) bool {
		_, ok := e.Body.(*event.Message)
		return ok && e.Source == event.SourceUser
	})
	state, err := c.State(within(t, patience))
	if err != nil || state.Status != event.Idle {
		t.Fatalf("after Append the status is %q, %v", state.Status, err)
	}
	s.wantAsked(t, c, 0)
	if err := c.Start(within(t, patience)); err != nil {
		t.Fatalf("Start: %v", err)
	}
	until(t, stream, ended())
	s.wantAsked(t, c, 1)
}

func checkStartTwice(t *testing.T, s *Setup) {
	hold, reply := gate()
	s.LLM.Reply(reply)
	c := s.fenced(t)
	stream := watch(t, c, "")
	next(t, stream)
	if err := c.Append(within(t, patience), agentapi.Message{Text: "go"}); err != nil {
		t.Fatalf("Append: %v", err)
	}
	for range 3 {
		if err := c.Start(within(t, patience)); err != nil {
			t.Fatalf("Start: %v", err)
		}
	}
	feed(t, hold, "done")
	close(hold)
	until(t, stream, ended())
	s.wantAsked(t, c, 1)
}

var errFenced = errors.New("the run is somebody else's")

func checkFenceHolds(t *testing.T, s *Setup) {
	c := s.fenced(t)
	p := await(t, "turn", begin(t, c, turn.Input{Message: agentapi.Message{Text: "go"}, Fence: func(context.Context) error { return errFenced }}))
	if !errors.Is(p.err, errFenced) {
		t.Fatalf("the turn ended with %v, want %v", p.err, errFenced)
	}
	s.wantAsked(t, c, 0)
}

// checkFenceFalls: a driver that was frozen after its fence learns when it wakes that
// the run is not its own, and can stop it.
func checkFenceFalls(t *testing.T, s *Setup) {
	hold, reply := gate()
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
			return errFenced
		},
	}))
	if !errors.Is(p.err, errFenced) {
		t.Fatalf("the turn ended with %v, want %v", p.err, errFenced)
	}
	deadline := time.Now().Add(patience)
	for {
		state, err := c.State(within(t, patience))
		if err != nil {
			t.Fatal(err)
		}
		if state.Status == event.Paused {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the run that nobody owns was not stopped: %s", state.Status)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// resumes lets a first driver come as far as so says, and checks that a second one
// gets the answer, and that the agent ran once.
func (s *Setup) resumes(t *testing.T, so func(agentapi.Fenced)) {
	t.Helper()
	s.LLM.Reply(llmtest.Text("the answer"))
	c := s.fenced(t)
	b := baseline(t, c)
	so(c)
	fences := 0
	res, err := turn.Resume(within(t, patience), s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), b, turn.Input{
		Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {},
		Fence: func(context.Context) error { fences++; return nil },
	})
	if err != nil || res.Answer != "the answer" || res.Outcome != turn.Finished {
		t.Errorf("answer %q, outcome %v, %v", res.Answer, res.Outcome, err)
	}
	if fences > 1 {
		t.Errorf("the fence was asked %d times", fences)
	}
	s.wantAsked(t, c, 1)
}

func checkResumeRunning(t *testing.T, s *Setup) {
	hold, reply := gate()
	s.LLM.Reply(reply)
	c := s.fenced(t)
	b := baseline(t, c)
	first := begin(t, c, turn.Input{Message: agentapi.Message{Text: "go"}})
	feed(t, hold, "half ")
	over := make(chan played, 1)
	owned(t, func() {
		var p played
		p.Result, p.err = turn.Resume(within(t, patience), s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), b, turn.Input{
			Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {},
			Fence: func(context.Context) error { return errors.New("a run that goes on is not started") },
		})
		over <- p
	})
	feed(t, hold, "done")
	close(hold)
	await(t, "first turn", first)
	if got := await(t, "second driver", over); got.err != nil || got.Answer != "half done" {
		t.Errorf("answer %q, %v", got.Answer, got.err)
	}
	s.wantAsked(t, c, 1)
}
