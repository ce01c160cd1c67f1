package backendtest

import (
	"context"
	"errors"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// resumes lists from where a second driver can continue a turn.
func resumes() []behaviour {
	stops := func(f Features) bool { return f.Fenced && f.Stop }
	once := func(name string, has func(Features) bool, so func(*testing.T, *Setup, agentapi.Fenced)) behaviour {
		return behaviour{name: name, has: has, check: func(t *testing.T, s *Setup) { s.resumes(t, so) }}
	}
	confirms := func(f Features) bool { return f.Fenced && f.Confirm }
	return []behaviour{
		once("ResumeSendsWhatDidNotArrive", hasFenced, func(*testing.T, *Setup, agentapi.Fenced) {}),
		once("ResumeStartsWhatWasAppended", hasFenced, func(t *testing.T, s *Setup, c agentapi.Fenced) { s.append(t, c, "go") }),
		once("ResumeStartsWhatWasAppendedTwice", hasFenced, func(t *testing.T, s *Setup, c agentapi.Fenced) {
			s.append(t, c, "go")
			s.append(t, c, "go")
		}),
		once("ResumeReadsATurnThatIsOver", hasFenced, func(t *testing.T, _ *Setup, c agentapi.Fenced) { say(t, c, "go") }),
		once("ResumeReadsATurnWhoseMessageCameTwice", hasFenced, func(t *testing.T, s *Setup, c agentapi.Fenced) {
			stream := watched(t, c)
			s.append(t, c, "go")
			s.append(t, c, "go")
			start(t, c)
			until(t, stream, ended())
		}),
		once("ResumeReadsATurnWhoseMessageCameAgain", hasFenced, func(t *testing.T, s *Setup, c agentapi.Fenced) {
			say(t, c, "go")
			s.append(t, c, "go")
		}),
		once("ResumeReadsATurnThatWasInterruptedAfterItsEnd", stops, func(t *testing.T, s *Setup, c agentapi.Fenced) {
			say(t, c, "go")
			s.append(t, c, "go")
			if err := c.Interrupt(within(t, patience)); err != nil {
				t.Fatalf("Interrupt: %v", err)
			}
		}),
		{name: "ResumeFollowsARun", has: hasFenced, check: checkResumeRunning},
		{name: "ResumeReadsATurnThatWasInterrupted", has: stops, check: checkResumeInterrupted},
		{name: "ResumeStartsNothingThatWasStopped", has: stops, check: func(t *testing.T, s *Setup) {
			c := s.fenced(t)
			b := s.begins(t, c)
			s.append(t, c, "go")
			if err := c.Interrupt(within(t, patience)); err != nil {
				t.Fatalf("Interrupt: %v", err)
			}
			if _, err := s.resume(t, c, b, turn.Input{}); !errors.Is(err, turn.ErrNoTurn) {
				t.Errorf("Resume: %v, want %v", err, turn.ErrNoTurn)
			}
			s.wantAsked(t, c, 0)
		}},
		{name: "ResumeReadsATurnThatWaits", needs: Needs{Confirm: true}, has: confirms, check: func(t *testing.T, s *Setup) {
			c := fencedOf(t, s.waiting(t))
			b := turn.Baseline{After: agentapi.FromStart}
			if res, err := s.resume(t, c, b, turn.Input{}); err != nil || res.Outcome != turn.Waiting || len(res.Waiting) != 1 {
				t.Errorf("Resume: %+v, %v", res, err)
			}
			s.wantAsked(t, c, 1)
		}},
		// Copies and decisions need a server that says where its log ends.
		{name: "ResumeAcceptsOnce", needs: Needs{Confirm: true}, has: func(f Features) bool { return confirms(f) && f.Fork }, check: checkResumeAccepts},
	}
}

// begins is the baseline of a turn with the message "go" that is about to begin.
func (*Setup) begins(t *testing.T, c agentapi.Conversation) (b turn.Baseline) {
	t.Helper()
	p := await(t, "turn", begin(t, c, turn.Input{Message: agentapi.Message{Text: "go"}, Ready: func(ready turn.Baseline) error {
		b = ready
		return errOwner
	}}))
	if !errors.Is(p.err, errOwner) {
		t.Fatalf("the turn ended with %v", p.err)
	}
	return b
}

// resume continues a turn with another handle, as another gateway would.
func (s *Setup) resume(t *testing.T, c agentapi.Conversation, b turn.Baseline, in turn.Input) (turn.Result, error) {
	t.Helper()
	in.Message, in.Emit = agentapi.Message{Text: "go"}, func(turn.Update) {}
	return turn.Resume(within(t, patience), s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), b, in)
}

// resumes lets a first driver come as far as so says, and checks that a second one
// gets the answer, and that the agent ran once.
func (s *Setup) resumes(t *testing.T, so func(*testing.T, *Setup, agentapi.Fenced)) {
	t.Helper()
	s.LLM.Reply(llmtest.Text("before"), llmtest.Text("the answer"))
	c := s.fenced(t)
	say(t, c, "before")
	b := s.begins(t, c)
	so(t, s, c)
	asked := 0
	res, err := s.resume(t, c, b, turn.Input{Fence: func(context.Context) error { asked++; return nil }})
	if err != nil || res.Answer != "the answer" || res.Outcome != turn.Finished {
		t.Errorf("answer %q, outcome %v, %v", res.Answer, res.Outcome, err)
	}
	if res.Usage.PromptTokens != 100 {
		t.Errorf("usage %+v", res.Usage)
	}
	if asked > 1 {
		t.Errorf("the fence was asked %d times", asked)
	}
	s.wantAsked(t, c, 2)
}

func checkResumeRunning(t *testing.T, s *Setup) {
	hold, reply := gate()
	s.LLM.Reply(reply)
	c := s.fenced(t)
	b := s.begins(t, c)
	first := begin(t, c, turn.Input{Message: agentapi.Message{Text: "go"}})
	feed(t, hold, "half ")
	over := make(chan played, 1)
	owned(t, func() {
		var p played
		p.Result, p.err = s.resume(t, c, b, turn.Input{Fence: func(context.Context) error { return errors.New("a run that goes on is not started") }})
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

func checkResumeInterrupted(t *testing.T, s *Setup) {
	hold, reply := gate()
	defer close(hold)
	s.LLM.Reply(reply)
	c := s.fenced(t)
	b := s.begins(t, c)
	over := begin(t, c, turn.Input{Message: agentapi.Message{Text: "go"}})
	feed(t, hold, "half ")
	if err := c.Interrupt(within(t, patience)); err != nil {
		t.Fatalf("Interrupt: %v", err)
	}
	await(t, "first turn", over)
	if res, err := s.resume(t, c, b, turn.Input{}); err != nil || res.Outcome != turn.Interrupted {
		t.Errorf("Resume: %+v, %v", res, err)
	}
	s.wantAsked(t, c, 1)
}

// checkResumeAccepts continues a turn that is to accept what waits: before the decision
// was sent, and after.
func checkResumeAccepts(t *testing.T, s *Setup) {
	c := fencedOf(t, s.waiting(t))
	s.LLM.Reply(llmtest.Text("It said 4711."))
	accept := turn.Input{Decision: &agentapi.Decision{Accept: true}}
	var b turn.Baseline
	accept.Ready = func(ready turn.Baseline) error { b = ready; return errOwner }
	if p := await(t, "turn", begin(t, c, accept)); !errors.Is(p.err, errOwner) || !b.Accepts {
		t.Fatalf("the turn ended with %v, baseline %+v", p.err, b)
	}
	for range 2 {
		if res, err := s.resume(t, c, b, accept); err != nil || res.Outcome != turn.Finished || res.Answer != "It said 4711." {
			t.Errorf("Resume: %+v, %v", res, err)
		}
	}
	s.wantAsked(t, c, 2)
}
