package backendtest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// lossTimeout is how soon a client must know that its server is dead.
const lossTimeout = 10 * time.Second

func losses() []behaviour {
	needs := Needs{Kill: true}
	return []behaviour{
		{name: "LostServerEndsTheTurn", needs: needs, has: hasKill, check: checkVanish},
		{name: "RestartedServerEndsTheTurn", needs: needs, has: hasKill, check: checkRestart},
		{name: "DeadServerIsUnavailable", needs: needs, has: hasKill, check: checkDead},
		{name: "AnswerOutlivesTheServer", needs: needs, has: hasKill, check: checkOutlives},
		{name: "LostTurnIsNotTheNextOne", needs: needs, has: hasKill, check: checkLostApart},
	}
}

func checkVanish(t *testing.T, s *Setup) {
	hold, reply := gate()
	defer close(hold)
	s.LLM.Reply(reply, llmtest.Text("I am back."))
	c := s.open(t)
	over := begin(t, c, turn.Input{Message: agentapi.Message{Text: "remember the milk"}})
	feed(t, hold, "partial ")
	s.LLM.Await(t, 1)
	killed := time.Now()
	s.Kill(t)
	p := await(t, "end of the turn", over)
	wantKind(t, p.err, agentapi.ErrLost)
	// Not an assertion on speed: a client waits no longer, by contract.
	if took := time.Since(killed); took > 2*lossTimeout {
		t.Errorf("the loss was told after %v", took)
	}
	s.Restart(t)
	again := s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID})
	if again.Info().Created {
		t.Error("the conversation was made anew")
	}
	if p := say(t, again, "go on"); p.Outcome != turn.Finished || p.Answer != "I am back." {
		t.Errorf("the next turn: %+v", p.Result)
	}
	found := false
	for _, m := range s.LLM.Await(t, 2).Messages {
		found = found || strings.Contains(m.Text, "remember the milk")
	}
	if !found {
		t.Error("the message of the lost turn was forgotten")
	}
}

func checkRestart(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Tool("terminal", `{"command":"sleep 300"}`), llmtest.Text("I am back."))
	c := s.open(t)
	working := make(chan struct{})
	over := begin(t, c, turn.Input{
		Message: agentapi.Message{Text: "go"},
		Emit: func(u turn.Update) {
			if u.Kind == turn.Progress {
				close(working)
			}
		},
	})
	await(t, "tool", working)
	s.Kill(t)
	s.Restart(t)
	// Which of the two it is depends on how soon the server was back.
	p := await(t, "end of the turn", over)
	lost := errors.Is(p.err, agentapi.ErrLost)
	failed := p.err == nil && p.Outcome == turn.Failed && p.Cause != nil && p.Cause.Kind == turn.CauseLost
	if !lost && !failed {
		t.Errorf("turn %+v", p)
	}
	if p := say(t, s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), "go on"); p.Answer != "I am back." {
		t.Errorf("the next turn: %+v", p.Result)
	}
}

func checkDead(t *testing.T, s *Setup) {
	c := s.open(t)
	s.Kill(t)
	ctx := within(t, patience)
	_, err := s.Backend.Open(ctx, agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: s.Profile, Workspace: s.Workspace})
	wantKind(t, err, agentapi.ErrUnavailable)
	wantKind(t, c.Send(ctx, agentapi.Message{Text: "go"}), agentapi.ErrUnavailable)
	_, err = c.Watch(ctx, "")
	wantKind(t, err, agentapi.ErrUnavailable)
	_, err = s.Backend.Profiles(ctx)
	wantKind(t, err, agentapi.ErrUnavailable)
	wantKind(t, s.Backend.Remove(ctx, c.Info().ID), agentapi.ErrUnavailable)
	if st := s.Backend.Status(ctx); st.Err == nil {
		t.Errorf("Status() of a dead server = %+v", st)
	}
	s.Restart(t)
	s.LLM.Reply(llmtest.Text("alive"))
	if p := say(t, s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), "go"); p.Answer != "alive" {
		t.Errorf("the turn after the restart: %+v", p.Result)
	}
}

func checkOutlives(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("the answer"))
	c := s.open(t)
	var from turn.Baseline
	want := play(t, c, turn.Input{
		Message: agentapi.Message{Text: "go"},
		Ready:   func(b turn.Baseline) error { from = b; return nil },
	})
	s.Kill(t)
	s.Restart(t)
	res, err := turn.Follow(within(t, patience), s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), from, func(turn.Update) {}, nil)
	if err != nil || res.Answer != want.Answer || res.Usage != want.Usage {
		t.Errorf("Follow: %+v, %v, want %+v", res, err, want.Result)
	}
}

// checkLostApart reads turns that died with their server after another turn: one that
// had called a tool, and one that had nothing but its message.
func checkLostApart(t *testing.T, s *Setup) {
	hold, reply := gate()
	defer close(hold)
	s.LLM.Reply(llmtest.Text("zero"), llmtest.Tool("terminal", `{"command":"sleep 300"}`), llmtest.Text("second"), reply, llmtest.Text("fourth"))
	c := s.open(t)
	say(t, c, "zero")
	for i, text := range []string{"one", "three"} {
		var base turn.Baseline
		working := make(chan struct{})
		over := begin(t, c, turn.Input{
			Message: agentapi.Message{Text: text},
			Ready:   func(b turn.Baseline) error { base = b; return nil },
			Emit: func(u turn.Update) {
				if u.Kind == turn.Progress {
					close(working)
				}
			},
		})
		if i == 0 {
			await(t, "tool", working)
		}
		s.LLM.Await(t, 2+2*i)
		s.Kill(t)
		s.Restart(t)
		await(t, "end of the turn", over)
		c = s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID})
		if p := say(t, c, "next"); p.Outcome != turn.Finished {
			t.Errorf("the next turn: %+v", p.Result)
		}
		res, err := turn.Follow(within(t, patience), c, base, func(turn.Update) {}, nil)
		lost := err == nil && res.Cause != nil && res.Cause.Kind == turn.CauseLost
		if !lost && !errors.Is(err, turn.ErrNoTurn) || res.Answer != "" {
			t.Errorf("the turn %q is read as %+v, %v", text, res, err)
		}
	}
}
