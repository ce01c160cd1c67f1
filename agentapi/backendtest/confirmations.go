package backendtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// modes lists what it takes to change the confirmation mode of a conversation.
func modes() []behaviour {
	needs := Needs{Confirm: true}
	return []behaviour{
		{name: "ConfirmationCanBeAskedFor", has: hasConfirm, check: checkModes},
		{name: "ConfirmationCanBeLowered", needs: needs, has: hasConfirm, check: func(t *testing.T, s *Setup) {
			c := s.open(t)
			s.confirm(t, c, agentapi.ConfirmNever)
			s.LLM.Reply(llmtest.Tool("terminal", `{"command":"echo 4711"}`), llmtest.Text("It said 4711."))
			if p := say(t, c, "go"); p.Outcome != turn.Finished || p.Answer != "It said 4711." {
				t.Errorf("result %+v", p.Result)
			}
		}},
		{name: "WaitingActionOutlivesLowerMode", needs: needs, has: hasConfirm, check: func(t *testing.T, s *Setup) {
			c := s.waiting(t)
			s.confirm(t, c, agentapi.ConfirmNever)
			if st, err := c.State(within(t, patience)); err != nil || st.Status != event.Waiting {
				t.Fatalf("State() = %v, %v", st.Status, err)
			}
			s.LLM.Reply(llmtest.Tool("terminal", `{"command":"echo again"}`), llmtest.Text("Done."))
			p := play(t, c, turn.Input{Message: agentapi.Message{Text: "not sent"}, Decision: &agentapi.Decision{Accept: true}})
			if p.Outcome != turn.Finished || p.Answer != "Done." {
				t.Errorf("result %+v", p.Result)
			}
		}},
	}
}

func confirmations() []behaviour {
	needs := Needs{Confirm: true}
	return []behaviour{
		{name: "ActionWaitsForConfirmation", needs: needs, has: hasConfirm, check: func(t *testing.T, s *Setup) {
			c := s.waiting(t)
			if st, err := c.State(within(t, patience)); err != nil || st.Status != event.Waiting {
				t.Errorf("State() = %v, %v", st.Status, err)
			}
		}},
		{name: "AcceptedActionRuns", needs: needs, has: hasConfirm, check: func(t *testing.T, s *Setup) {
			c := s.waiting(t)
			s.LLM.Reply(llmtest.Text("It said 4711."))
			p := play(t, c, turn.Input{Message: agentapi.Message{Text: "not sent"}, Decision: &agentapi.Decision{Accept: true}})
			if p.Outcome != turn.Finished || p.Answer != "It said 4711." || p.Usage.PromptTokens != 100 {
				t.Errorf("result %+v", p.Result)
			}
			messages := s.LLM.Await(t, 2).Messages
			if last := messages[len(messages)-1]; last.Role != "tool" || !strings.Contains(last.Text, "4711") {
				t.Errorf("the model was told %+v", last)
			}
			for _, m := range messages {
				if strings.Contains(m.Text, "not sent") {
					t.Error("the message of an accepting turn was sent")
				}
			}
		}},
		{name: "RejectedActionDoesNotRun", needs: needs, has: hasConfirm, check: func(t *testing.T, s *Setup) {
			s.rejects(t, turn.Input{
				Message:  agentapi.Message{Text: "do it differently"},
				Decision: &agentapi.Decision{Reason: "far too dangerous"},
			}, "far too dangerous")
		}},
		{name: "MessageWithoutDecisionRejects", needs: needs, has: hasConfirm, check: func(t *testing.T, s *Setup) {
			s.rejects(t, turn.Input{Message: agentapi.Message{Text: "do it differently"}}, "did not approve")
		}},
		{name: "FinishNeedsNoConfirmation", needs: needs, has: hasConfirm, check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Finish("nothing to do"))
			if p := say(t, s.open(t), "go"); p.Outcome != turn.Finished || p.Answer != "nothing to do" {
				t.Errorf("result %+v", p.Result)
			}
		}},
		{name: "WaitingTurnCanBeFollowed", needs: needs, has: hasConfirm, check: func(t *testing.T, s *Setup) {
			c := s.waiting(t)
			res, err := turn.Follow(within(t, patience), c, turn.Baseline{After: agentapi.FromStart}, func(turn.Update) {}, nil)
			if err != nil || res.Outcome != turn.Waiting || len(res.Waiting) != 1 {
				t.Errorf("Follow: %+v, %v", res, err)
			}
		}},
	}
}

// checkModes gives a conversation each mode, and looks for it also in another
// handle.
func checkModes(t *testing.T, s *Setup) {
	c := s.open(t)
	for _, mode := range []agentapi.Confirmation{agentapi.ConfirmRisky, agentapi.ConfirmNever, agentapi.ConfirmAlways} {
		s.confirm(t, c, mode)
	}
	again := s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID})
	s.LLM.Reply(llmtest.Tool("terminal", `{"command":"echo 4711"}`))
	if p := say(t, again, "go"); p.Outcome != turn.Waiting || len(p.Waiting) != 1 {
		t.Errorf("result %+v, want that it waits", p.Result)
	}
}

// confirm sets the mode, and checks that the state has it, with an analyzer
// where the mode needs one.
func (s *Setup) confirm(t *testing.T, c agentapi.Conversation, mode agentapi.Confirmation) {
	t.Helper()
	if err := c.Confirm(within(t, patience), mode); err != nil {
		t.Fatalf("Confirm(%s): %v", mode, err)
	}
	st, err := c.State(within(t, patience))
	if err != nil || agentapi.ConfirmationOf(st.ConfirmationPolicy) != mode {
		t.Fatalf("the mode is %s, %v; want %s", st.ConfirmationPolicy, err, mode)
	}
	if mode == agentapi.ConfirmRisky && !agentapi.Rated(st.SecurityAnalyzer) {
		t.Errorf("with the mode %s nobody rates the actions", mode)
	}
}

// waiting is a conversation that waits for the confirmation of one action.
func (s *Setup) waiting(t *testing.T) agentapi.Conversation {
	t.Helper()
	s.LLM.Reply(llmtest.Tool("terminal", `{"command":"echo 4711"}`))
	c := s.open(t)
	p := say(t, c, "go")
	want := turn.Result{
		Outcome: turn.Waiting, Actions: 1, Usage: turn.Usage{PromptTokens: 100, CompletionTokens: 10},
		Waiting: []turn.Action{{Tool: "terminal", Line: "$ echo 4711"}},
	}
	if diff := cmp.Diff(want, p.Result, varying()); diff != "" {
		t.Fatalf("result (-want +got):\n%s", diff)
	}
	return c
}

// rejects checks that the action that waits is not run and the model learns why.
func (s *Setup) rejects(t *testing.T, in turn.Input, reason string) {
	t.Helper()
	c := s.waiting(t)
	s.LLM.Reply(llmtest.Text("As you like."))
	if p := play(t, c, in); p.Outcome != turn.Finished || p.Answer != "As you like." {
		t.Errorf("result %+v", p.Result)
	}
	var tool, user bool
	for _, m := range s.LLM.Await(t, 2).Messages {
		tool = tool || m.Role == "tool" && strings.Contains(m.Text, reason)
		user = user || m.Role == "user" && strings.Contains(m.Text, "do it differently")
	}
	if !tool || !user {
		t.Errorf("the model was told the reason: %v, the message: %v", tool, user)
	}
	for _, e := range replay(t, c, agentapi.FromStart) {
		if _, ran := e.Body.(*event.Observation); ran {
			t.Error("the action was run")
		}
	}
}
