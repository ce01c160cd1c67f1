package backendtest

import (
	"context"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func stops() []behaviour {
	return []behaviour{
		{name: "InterruptEndsTheModelsCall", has: hasStop, check: checkInterruptModel},
		{name: "InterruptEndsTheTool", has: hasStop, check: checkInterruptTool},
		{name: "InterruptOfNothingIsHarmless", check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"), llmtest.Text("two"))
			c := s.open(t)
			for _, want := range []string{"one", "two"} {
				if err := c.Interrupt(within(t, patience)); err != nil {
					t.Fatal(err)
				}
				if p := say(t, c, "go"); p.Outcome != turn.Finished || p.Answer != want {
					t.Errorf("result %+v", p.Result)
				}
			}
		}},
		{name: "InterruptOfUnknownConversation", check: func(t *testing.T, s *Setup) {
			c := s.open(t)
			if err := s.Backend.Remove(within(t, patience), c.Info().ID); err != nil {
				t.Fatal(err)
			}
			wantKind(t, c.Interrupt(within(t, patience)), agentapi.ErrConversationNotFound)
		}},
		{name: "CanceledTurnIsInterrupted", has: hasStop, check: checkCancelTurn},
		{name: "CanceledBeforeTheStartStartsNothing", check: func(t *testing.T, s *Setup) {
			c := s.open(t)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := turn.Run(ctx, c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}})
			if err == nil {
				t.Error("a turn under a canceled context has no error")
			}
			if log := replay(t, c, agentapi.FromStart); len(outline(log)) != 0 {
				t.Errorf("the log has %q", outline(log))
			}
		}},
		{name: "PausedTurnEndsAndGoesOn", has: hasPause, check: checkPause},
	}
}

func checkInterruptModel(t *testing.T, s *Setup) {
	hold, reply := gate()
	defer close(hold)
	s.LLM.Reply(reply, llmtest.Text("I am back."))
	c := s.open(t)
	over := begin(t, c, turn.Input{Message: agentapi.Message{Text: "go"}})
	feed(t, hold, "partial ")
	feed(t, hold, "text ")
	request := s.LLM.Await(t, 1)
	if err := c.Interrupt(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	p := await(t, "end of the turn", over)
	if p.err != nil || p.Outcome != turn.Interrupted || p.Cause != nil {
		t.Errorf("turn %+v", p)
	}
	if got := request.Wait(t); got != llmtest.ClientLeft {
		t.Errorf("the model's request ended with %v, want %v", got, llmtest.ClientLeft)
	}
	if p := say(t, c, "go on"); p.Outcome != turn.Finished || p.Answer != "I am back." {
		t.Errorf("the next turn: %+v", p.Result)
	}
}

func checkInterruptTool(t *testing.T, s *Setup) {
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
	if err := c.Interrupt(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	if p := await(t, "end of the turn", over); p.err != nil || p.Outcome != turn.Interrupted || p.Actions != 1 {
		t.Errorf("turn %+v", p)
	}
	if p := say(t, c, "go on"); p.Outcome != turn.Finished || p.Answer != "I am back." {
		t.Errorf("the next turn: %+v", p.Result)
	}
	// The model must not be left with a call that has no result.
	answered := map[string]bool{}
	messages := s.LLM.Await(t, 2).Messages
	for _, m := range messages {
		if m.Role == "tool" {
			answered[m.CallID] = true
		}
	}
	for _, m := range messages {
		for _, call := range m.Calls {
			if !answered[call.ID] {
				t.Errorf("the call %s has no result", call.ID)
			}
		}
	}
}

func checkCancelTurn(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Reply{Text: "I begin", End: llmtest.Hang})
	c := s.open(t)
	ctx, cancel := context.WithCancel(within(t, patience))
	defer cancel()
	over := beginUnder(ctx, t, c, turn.Input{Message: agentapi.Message{Text: "go"}})
	request := s.LLM.Await(t, 1)
	cancel()
	if p := await(t, "end of the turn", over); p.err != nil || p.Outcome != turn.Interrupted {
		t.Errorf("turn %+v", p)
	}
	if got := request.Wait(t); got != llmtest.ClientLeft {
		t.Errorf("the model's request ended with %v, want %v", got, llmtest.ClientLeft)
	}
	if st, err := c.State(within(t, patience)); err != nil || st.Status == event.Running {
		t.Errorf("State() = %v, %v", st.Status, err)
	}
}

func checkPause(t *testing.T, s *Setup) {
	hold, reply := gate()
	s.LLM.Reply(reply, llmtest.Text("I am back."))
	c := s.open(t)
	over := begin(t, c, turn.Input{Message: agentapi.Message{Text: "go"}})
	s.LLM.Await(t, 1)
	rest := watch(t, c, "")
	next(t, rest)
	s.Pause(t, c.Info().ID)
	// The step in flight completes, before the pause or after it; the message
	// after that is answered again.
	feed(t, hold, "late")
	close(hold)
	if p := await(t, "end of the turn", over); p.err != nil || p.Outcome != turn.Paused {
		t.Errorf("turn %+v", p)
	}
	// A pause may be told before the step has ended, and a message before that
	// would be one of the same run.
	until(t, rest, func(e event.Event) bool { _, ok := e.Body.(*event.Message); return ok && e.Source == event.SourceAgent })
	until(t, rest, func(e event.Event) bool { return isSnapshot(e) && statusOf(e) != event.Running })
	if p := say(t, c, "go on"); p.Outcome != turn.Finished || !strings.Contains(p.Answer, "back") {
		t.Errorf("the next turn: %+v", p.Result)
	}
}
