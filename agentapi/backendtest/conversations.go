package backendtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

func conversations() []behaviour {
	return []behaviour{
		{name: "OpenMakesAConversationOnce", check: checkOpen},
		{name: "UnknownConversationIsMadeByOpen", check: func(t *testing.T, s *Setup) {
			c := s.openAs(t, agentapi.OpenRequest{ID: uuid.New()})
			if !c.Info().Created {
				t.Errorf("Info() = %+v, want Created", c.Info())
			}
		}},
		{name: "UnknownConversationCannotBeRemoved", check: func(t *testing.T, s *Setup) {
			wantKind(t, s.Backend.Remove(within(t, patience), uuid.New()), agentapi.ErrConversationNotFound)
		}},
		{name: "RemovedConversationIsForgotten", check: checkRemoved},
		{name: "RemoveStopsTheRun", has: hasStop, check: checkRemoveRunning},
		{name: "SystemTextReachesTheModel", check: checkSystem},
		{name: "LongSystemTextIsRemembered", check: func(t *testing.T, s *Setup) {
			text := strings.Repeat("Mind the gap; naïve façade 🚇. ", 400) + "\n  the end\n"
			c := s.openAs(t, agentapi.OpenRequest{ID: uuid.New(), New: true, System: text})
			again := s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID})
			if info := again.Info(); !info.SystemKnown || info.System != text {
				t.Errorf("SystemKnown = %v, the text of %d bytes came back as %d", info.SystemKnown, len(text), len(info.System))
			}
		}},
		{name: "SwitchChangesTheModel", has: hasSwitch, check: checkSwitch},
		{name: "SwitchToUnknownProfileChangesNothing", has: hasSwitch, check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("still here"))
			c := s.open(t)
			wantKind(t, c.Switch(within(t, patience), "no-such-profile"), agentapi.ErrProfileNotFound)
			say(t, c, "who are you?")
			if got := s.LLM.Await(t, 1).Model; got != "test" {
				t.Errorf("the model is %q, want test", got)
			}
		}},
		{name: "ConversationForOneTurnGoesOn", check: checkOnce},
		{name: "ParallelConversationsDoNotMix", check: checkParallel},
		{name: "StateAgreesWithTheTurn", check: checkState},
		{name: "RunningConversationIsBusy", check: checkBusy},
		{name: "RunningConversationIsWaitedFor", check: checkWaitedFor},
		{name: "RunningConversationIsTakenOver", has: hasStop, check: checkTakenOver},
	}
}

func checkOpen(t *testing.T, s *Setup) {
	id := uuid.New()
	first := s.openAs(t, agentapi.OpenRequest{ID: id, New: true}).Info()
	if first.ID != id || !first.Created || first.Profile != s.Profile || first.Workspace != s.Workspace {
		t.Errorf("Info() of a new conversation = %+v", first)
	}
	second := s.openAs(t, agentapi.OpenRequest{ID: id, Profile: s.Other}).Info()
	if second.ID != id || second.Created || second.Profile != s.Profile || second.Workspace != s.Workspace {
		t.Errorf("Info() of a known conversation = %+v", second)
	}
}

// checkOnce continues a conversation of which no other turn was expected.
func checkOnce(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Tool("terminal", `{"command":"echo something"}`), llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("three"))
	id := uuid.New()
	turnOf := func(text string, req agentapi.OpenRequest) {
		t.Helper()
		req.ID, req.Profile, req.Workspace = id, s.Profile, s.Workspace
		c, err := s.Backend.Open(within(t, patience), req)
		if err != nil {
			t.Fatal(err)
		}
		if p := say(t, c, "go"); p.err != nil || p.Answer != text {
			t.Errorf("turn %+v", p)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	turnOf("one", agentapi.OpenRequest{New: true, Once: true})
	turnOf("two", agentapi.OpenRequest{Existing: true, Once: true})
	turnOf("three", agentapi.OpenRequest{Existing: true})
	if n := len(s.LLM.Await(t, 4).Messages); n < 8 {
		t.Errorf("the last request has %d messages, so the conversation has lost what was said", n)
	}
}

func checkRemoved(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("one"), llmtest.Text("two"))
	c := s.open(t)
	say(t, c, "the first life")
	ctx := within(t, patience)
	if err := s.Backend.Remove(ctx, c.Info().ID); err != nil {
		t.Fatal(err)
	}
	wantKind(t, s.Backend.Remove(ctx, c.Info().ID), agentapi.ErrConversationNotFound)
	again := s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID})
	if !again.Info().Created {
		t.Error("a removed conversation was found again")
	}
	say(t, again, "the second life")
	for _, m := range s.LLM.Await(t, 2).Messages {
		if strings.Contains(m.Text, "first life") {
			t.Errorf("the model was told of the conversation that was removed: %q", m.Text)
		}
	}
}

func checkRemoveRunning(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Reply{End: llmtest.Hang})
	c := s.open(t)
	ctx := within(t, patience)
	if err := c.Send(ctx, agentapi.Message{Text: "think for ever"}); err != nil {
		t.Fatal(err)
	}
	request := s.LLM.Await(t, 1)
	if err := s.Backend.Remove(ctx, c.Info().ID); err != nil {
		t.Fatal(err)
	}
	if got := request.Wait(t); got != llmtest.ClientLeft {
		t.Errorf("the model's request ended with %v, want %v", got, llmtest.ClientLeft)
	}
}

func checkSystem(t *testing.T, s *Setup) {
	const text = "Always answer in verse."
	s.LLM.Reply(llmtest.Text("Roses are red"))
	c := s.openAs(t, agentapi.OpenRequest{ID: uuid.New(), New: true, System: text})
	if info := c.Info(); !info.SystemKnown || info.System != text {
		t.Errorf("Info() of a new conversation = %+v", info)
	}
	say(t, c, "hello")
	found := false
	for _, m := range s.LLM.Await(t, 1).Messages {
		found = found || m.Role == "system" && strings.Contains(m.Text, text)
	}
	if !found {
		t.Error("the model was not told the system text")
	}
	again := s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}).Info()
	if !again.SystemKnown || again.System != text {
		t.Errorf("Info() of a known conversation = %+v", again)
	}
	bare := s.openAs(t, agentapi.OpenRequest{ID: s.open(t).Info().ID}).Info()
	if !bare.SystemKnown || bare.System != "" {
		t.Errorf("Info() of a conversation without system text = %+v", bare)
	}
}

func checkSwitch(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("three"))
	c := s.openAs(t, agentapi.OpenRequest{ID: uuid.New(), New: true, System: "Be kind."})
	say(t, c, "first")
	for i, profile := range []string{s.Other, s.Profile} {
		if err := c.Switch(within(t, patience), profile); err != nil {
			t.Fatal(err)
		}
		again := s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID})
		if info := again.Info(); info.Profile != profile || info.System != "Be kind." {
			t.Errorf("Info() after Switch(%q) = %+v", profile, info)
		}
		p := say(t, again, "next")
		if p.Usage.PromptTokens != 100 {
			t.Errorf("usage after a switch is %+v, want that of the turn", p.Usage)
		}
		model := map[string]string{s.Profile: "test", s.Other: "other"}[profile]
		if got := s.LLM.Await(t, i+2).Model; got != model {
			t.Errorf("after Switch(%q) the model is %q, want %q", profile, got, model)
		}
	}
}

func checkParallel(t *testing.T, s *Setup) {
	const n = 6
	var all sync.WaitGroup
	for i := range n {
		answer := fmt.Sprintf("answer number %d", i)
		s.LLM.On(llmtest.Says(fmt.Sprintf("question <%d>", i)), llmtest.Text(answer))
	}
	for i := range n {
		c := s.open(t)
		all.Go(func() {
			res, err := turn.Run(within(t, patience), c, turn.Input{
				Message: agentapi.Message{Text: fmt.Sprintf("question <%d>", i)}, Emit: func(turn.Update) {},
			})
			if want := fmt.Sprintf("answer number %d", i); err != nil || res.Answer != want {
				t.Errorf("conversation %d: %q, %v, want %q", i, res.Answer, err, want)
			}
		})
	}
	all.Wait()
}

func checkState(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Reply{Text: "done", Usage: &llmtest.Usage{Prompt: 70, Completion: 7}})
	c := s.open(t)
	say(t, c, "work")
	st, err := c.State(within(t, patience))
	if err != nil {
		t.Fatal(err)
	}
	var prompt int64
	for _, m := range st.Stats.UsageToMetrics {
		if m.Usage != nil {
			prompt += m.Usage.PromptTokens
		}
	}
	if st.Status != event.Finished || prompt != 70 || st.Workspace.WorkingDir != s.Workspace {
		t.Errorf("State() = %+v", st)
	}
}

func checkBusy(t *testing.T, s *Setup) {
	hold, reply := gate()
	s.LLM.Reply(reply)
	c := s.open(t)
	first := begin(t, c, turn.Input{Message: agentapi.Message{Text: "work"}})
	s.LLM.Await(t, 1)
	_, err := turn.Run(within(t, patience), s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), turn.Input{
		Message: agentapi.Message{Text: "me too"}, Emit: func(turn.Update) {},
	})
	wantKind(t, err, agentapi.ErrBusy)
	feed(t, hold, "done")
	close(hold)
	if p := await(t, "first turn", first); p.err != nil || p.Answer != "done" {
		t.Errorf("the first turn: %+v", p)
	}
	if n := len(s.LLM.Requests()); n != 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
}

// occupied returns a turn that waits for the end of a run which another client has
// started in the same conversation.
func occupied(t *testing.T, s *Setup, stop bool) (over <-chan played) {
	t.Helper()
	c := s.open(t)
	if err := c.Send(within(t, patience), agentapi.Message{Text: "their work"}); err != nil {
		t.Fatal(err)
	}
	s.LLM.Await(t, 1)
	asked := make(chan struct{})
	over = begin(t, s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), turn.Input{
		Message: agentapi.Message{Text: "my work"},
		Busy:    func() bool { close(asked); return stop },
	})
	await(t, "word that the conversation runs", asked)
	return over
}

func checkWaitedFor(t *testing.T, s *Setup) {
	hold, reply := gate()
	s.LLM.Reply(reply, llmtest.Text("mine"))
	over := occupied(t, s, false)
	feed(t, hold, "theirs")
	close(hold)
	p := await(t, "end of the turn", over)
	if p.err != nil || p.Outcome != turn.Finished || p.Answer != "mine" || p.text() != "mine" || p.Usage.PromptTokens != 100 {
		t.Errorf("the turn that waited: %+v, live text %q, %v", p.Result, p.text(), p.err)
	}
	wantTold(t, s.LLM.Await(t, 2), "their work", "theirs", "my work")
}

func checkTakenOver(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Reply{End: llmtest.Hang}, llmtest.Text("mine"))
	p := await(t, "end of the turn", occupied(t, s, true))
	if p.err != nil || p.Outcome != turn.Finished || p.Answer != "mine" {
		t.Errorf("the turn that took over: %+v, %v", p.Result, p.err)
	}
}
