package backendtest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// condensations lists what happens when a person asks for a summary.
func condensations() []behaviour {
	return []behaviour{
		{name: "CondenseSummarizesWhatWasSaid", check: checkCondense},
		{name: "CondenseOfAnEmptyConversationDoesNothing", check: func(t *testing.T, s *Setup) {
			if done, err := s.open(t).Condense(within(t, patience)); err != nil || done.Done {
				t.Errorf("Condense() = %+v, %v", done, err)
			}
		}},
		{name: "CondenseIsRefusedWhileActionsWait", needs: Needs{Confirm: true}, has: hasConfirm, check: func(t *testing.T, s *Setup) {
			_, err := s.waiting(t).Condense(within(t, patience))
			wantKind(t, err, agentapi.ErrRefused)
		}},
		{name: "CondenseIsRefusedDuringARun", check: func(t *testing.T, s *Setup) {
			c := s.open(t)
			open, reply := gate()
			s.LLM.Reply(reply)
			over := begin(t, c, turn.Input{Message: agentapi.Message{Text: "go"}})
			feed(t, open, "So")
			s.LLM.Await(t, 1)
			if _, err := c.Condense(within(t, patience)); !errors.Is(err, agentapi.ErrBusy) {
				t.Errorf("Condense: %v, want ErrBusy", err)
			}
			close(open)
			if p := await(t, "end of the turn", over); p.err != nil {
				t.Error(p.err)
			}
		}},
	}
}

// talked is a conversation of two turns.
func (s *Setup) talked(t *testing.T) agentapi.Conversation {
	t.Helper()
	c := s.open(t)
	s.LLM.Reply(llmtest.Text("It is 4711. "+strings.Repeat("And so on. ", 200)), llmtest.Text("You are welcome."))
	say(t, c, "what is the number?")
	say(t, c, "thanks")
	return c
}

func checkCondense(t *testing.T, s *Setup) {
	c := s.talked(t)
	before := usageOf(t, c)
	s.LLM.Reply(llmtest.Text("SUMMARY: the number is 4711."))
	done, err := c.Condense(within(t, patience))
	if err != nil || !done.Done {
		t.Fatalf("Condense() = %+v, %v", done, err)
	}
	if done.After > done.Before {
		t.Errorf("the context grew: %+v", done)
	}
	asked := s.LLM.Await(t, 3).Messages
	if text := asked[len(asked)-1].Text; !strings.Contains(text, "what is the number?") {
		t.Errorf("the model was to summarize %q", text)
	}
	if used := usageOf(t, c); used <= before {
		t.Errorf("%d prompt tokens after the summary, %d before it", used, before)
	}
	if n := slices.IndexFunc(replay(t, c, agentapi.FromStart), func(e event.Event) bool {
		b, ok := e.Body.(*event.Condensation)
		return ok && b.Summary != nil && strings.Contains(*b.Summary, "SUMMARY")
	}); n < 0 {
		t.Error("the log has no condensation with the summary")
	}
	s.LLM.Reply(llmtest.Text("4711."))
	if p := say(t, s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), "again?"); p.Answer != "4711." {
		t.Errorf("result %+v", p.Result)
	}
	var told string
	for _, m := range s.LLM.Await(t, 4).Messages {
		told += m.Text + "\n"
	}
	if strings.Contains(told, "And so on.") || !strings.Contains(told, "SUMMARY") || !strings.Contains(told, "again?") {
		t.Errorf("the model was told %q", told)
	}
}

// usageOf is how many tokens of prompts all models have taken.
func usageOf(t *testing.T, c agentapi.Conversation) (n int64) {
	t.Helper()
	st, err := c.State(within(t, patience))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range st.Stats.UsageToMetrics {
		if m.Usage != nil {
			n += m.Usage.PromptTokens
		}
	}
	return n
}
