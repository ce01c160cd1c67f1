package backendtest

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

func hasFork(f Features) bool { return f.Fork }

func forks() []behaviour {
	return []behaviour{
		{name: "ForkKnowsWhatCameBefore", has: hasFork, check: checkFork},
		{name: "ForkLeavesItsSourceAlone", has: hasFork, check: checkForkSource},
		{name: "ForkOfTheWholeLog", has: hasFork, check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"), llmtest.Text("two"))
			c := s.open(t)
			say(t, c, "first")
			say(t, s.fork(t, c, ""), "second")
			wantTold(t, s.LLM.Await(t, 2), "first", "one", "second")
		}},
		{name: "ForkOfAFork", has: hasFork, check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("three"), llmtest.Text("four"))
			c := s.open(t)
			say(t, c, "first")
			second := startOf(t, c, "second")
			fork := s.fork(t, c, second)
			say(t, fork, "another second")
			say(t, s.fork(t, fork, second), "a third second")
			wantTold(t, s.LLM.Await(t, 4), "first", "one", "a third second")
		}},
		{name: "ForkIsFoundAgain", has: hasFork, check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"), llmtest.Text("two"))
			c := s.openAs(t, agentapi.OpenRequest{ID: uuid.New(), New: true, System: "Be kind."})
			say(t, c, "first")
			made := s.fork(t, c, "").Info()
			again := s.openAs(t, agentapi.OpenRequest{ID: made.ID, Existing: true})
			for _, info := range []agentapi.Info{made, again.Info()} {
				if info.Profile != s.Profile || info.System != "Be kind." || !info.SystemKnown || info.Workspace != s.Workspace {
					t.Errorf("Info() of a fork = %+v", info)
				}
			}
			say(t, again, "second")
			wantTold(t, s.LLM.Await(t, 2), "first", "one", "second")
		}},
		{name: "ForkOfAnUnknownEvent", has: hasFork, check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"))
			c := s.open(t)
			say(t, c, "first")
			id := uuid.New()
			_, err := c.Fork(within(t, patience), agentapi.ForkRequest{ID: id, From: uuid.New()})
			wantKind(t, err, agentapi.ErrRefused)
			wantKind(t, s.Backend.Remove(within(t, patience), id), agentapi.ErrConversationNotFound)
		}},
		{name: "ForkTakesNoIDTwice", has: hasFork, check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"))
			c := s.open(t)
			say(t, c, "first")
			_, err := c.Fork(within(t, patience), agentapi.ForkRequest{ID: s.open(t).Info().ID})
			wantKind(t, err, agentapi.ErrRefused)
		}},
		{
			name: "ForkAsksForConfirmationToo", needs: Needs{Confirm: true},
			has: func(f Features) bool { return f.Fork && f.Confirm }, check: checkForkConfirms,
		},
		{name: "ForkThatCannotBeMade", has: func(f Features) bool { return !f.Fork }, check: func(t *testing.T, s *Setup) {
			_, err := s.open(t).Fork(within(t, patience), agentapi.ForkRequest{ID: uuid.New()})
			wantKind(t, err, agentapi.ErrUnsupported)
		}},
	}
}

func (s *Setup) fork(t *testing.T, c agentapi.Conversation, from string) agentapi.Conversation {
	t.Helper()
	id := uuid.New()
	fork, err := c.Fork(within(t, patience), agentapi.ForkRequest{ID: id, From: from})
	if err != nil {
		t.Fatalf("Fork: %v", err)
	}
	t.Cleanup(func() {
		if err := fork.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if info := fork.Info(); info.ID != id || !info.Created {
		t.Errorf("Info() of a fork = %+v", info)
	}
	return fork
}

// startOf runs a turn and gives the last event before it.
func startOf(t *testing.T, c agentapi.Conversation, text string) string {
	t.Helper()
	after := ""
	play(t, c, turn.Input{
		Message: agentapi.Message{Text: text},
		Ready:   func(b turn.Baseline) error { after = b.After; return nil },
	})
	return after
}

// wantTold checks what the model was told, the system prompt aside.
func wantTold(t *testing.T, r *llmtest.Request, want ...string) {
	t.Helper()
	var got []string
	for _, m := range r.Messages {
		if m.Role != "system" {
			got = append(got, m.Text)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("the model was told %q, want %q", got, want)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("message %d is %q, want %q in it", i, got[i], want[i])
		}
	}
}

func checkFork(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("three"), llmtest.Text("another two"))
	c := s.open(t)
	say(t, c, "first")
	second := startOf(t, c, "second")
	say(t, c, "third")
	fork := s.fork(t, c, second)
	if st, err := fork.State(within(t, patience)); err != nil || st.Status != event.Idle {
		t.Errorf("State() of a fork = %v, %v", st.Status, err)
	}
	p := say(t, fork, "the second said better")
	if p.Outcome != turn.Finished || p.Answer != "another two" || p.Usage.PromptTokens != 100 {
		t.Errorf("result %+v", p.Result)
	}
	request := s.LLM.Await(t, 4)
	wantTold(t, request, "first", "one", "the second said better")
	if request.Model != "test" {
		t.Errorf("the model of a fork is %q", request.Model)
	}
}

func checkForkSource(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("another two"), llmtest.Text("three"))
	c := s.open(t)
	say(t, c, "first")
	second := startOf(t, c, "second")
	before := len(replay(t, c, agentapi.FromStart))
	say(t, s.fork(t, c, second), "the second said better")
	if got := len(replay(t, c, agentapi.FromStart)); got != before {
		t.Errorf("the source had %d events and has %d", before, got)
	}
	say(t, c, "third")
	wantTold(t, s.LLM.Await(t, 4), "first", "one", "second", "two", "third")
}

func checkForkConfirms(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("one"))
	c := s.open(t)
	say(t, c, "first")
	s.LLM.Reply(llmtest.Tool("terminal", `{"command":"echo 4711"}`))
	if p := say(t, s.fork(t, c, ""), "go"); p.Outcome != turn.Waiting {
		t.Errorf("result %+v, want one that waits", p.Result)
	}
}
