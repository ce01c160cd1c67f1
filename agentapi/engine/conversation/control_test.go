package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// add appends a message.
func (w *world) add(text string, run bool) {
	w.t.Helper()
	if err := w.conv.Append(w.t.Context(), []event.Content{event.Text(text)}, "", run); err != nil {
		w.t.Fatalf("append %q: %v", text, err)
	}
}

// do does something that must not fail.
func (w *world) do(f func(context.Context) error) {
	w.t.Helper()
	if err := f(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// next reads so many events.
func (w *world) next(n int) []event.Event {
	w.t.Helper()
	var events []event.Event
	for range n {
		e, err := w.stream.Next(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// value is what the last state update with that key says.
func value(events []event.Event, key string) string {
	for _, e := range slices.Backward(events) {
		if u, ok := e.Body.(*event.StateUpdate); ok && u.Key == key {
			return string(u.Value)
		}
	}
	return ""
}

func TestAMessageIsAppendedAndRunLater(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "Hello."), answer("r2", "Again.")}}, nil)
	w.add("hi", false)
	events := w.next(3)
	want(t, events, "SystemPromptEvent", "user says hi")
	if got, last := value(events, "last_user_message_id"), `"`+events[1].ID+`"`; got != last {
		t.Errorf("the last message is told to be %s, want %s", got, last)
	}
	w.do(w.conv.Run)
	want(t, w.rest(), "status running", "agent says Hello.", "status finished")
	w.do(w.conv.Run) // does nothing
	want(t, w.rest())
	w.add("and?", true)
	want(t, w.rest(), "status idle", "user says and?", "status running", "agent says Again.", "status finished")
	if n := len(w.model.requests()); n != 2 {
		t.Errorf("the model was asked %d times, want 2", n)
	}
}

func TestAnAppendedMessageSurvivesTheProcess(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "Hello.")}}, nil)
	w.add("hi", false)
	w.reopen()
	w.do(w.conv.Run)
	want(t, w.rest(), "status running", "agent says Hello.", "status finished")
}

// asking is a model's answer that waits: asked says that it was asked.
func asking(asked, answering chan struct{}, then reply) reply {
	return func(ctx context.Context, onDelta func(llm.Delta)) (llm.Response, error) {
		close(asked)
		select {
		case <-answering:
			return then(ctx, onDelta)
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	}
}

// A message that comes while the agent writes its last answer is answered, too.
func TestAMessageDuringTheLastCallIsAnswered(t *testing.T) {
	t.Parallel()
	for _, run := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			asked, answering, taken := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			w := open(t, &model{todo: []reply{asking(asked, answering, answer("r1", "One.")), answer("r2", "Two.")}}, nil)
			w.add("one", true)
			<-asked
			if err := w.conv.Run(t.Context()); !errors.Is(err, agentapi.ErrBusy) {
				t.Errorf("another run: %v, want ErrBusy", err)
			}
			go func() { taken <- w.conv.Append(t.Context(), []event.Content{event.Text("two")}, "", run) }()
			synctest.Wait()
			close(answering)
			want(t, w.rest(), "SystemPromptEvent", "user says one", "status running", "agent says One.",
				"user says two", "agent says Two.", "status finished")
			if err := <-taken; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAMessageAcceptsWhatWaits(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "Done.")}}, always)
	w.add("go", true)
	w.rest()
	w.add("by the way", false)
	if got := w.status(); got != event.Waiting {
		t.Errorf("a message without a run leaves the status %s", got)
	}
	w.add("yes", true)
	want(t, w.rest(), "user says by the way", "user says yes", "status running", "c1 has a result", "agent says Done.", "status finished")
}

func TestARunAcceptsWhatWaits(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "Done.")}}, always)
	w.add("go", true)
	w.rest()
	w.do(w.conv.Run)
	want(t, w.rest(), "status running", "c1 has a result", "agent says Done.", "status finished")
}

// What came before the question does not answer it.
func TestAMessageFromBeforeTheQuestionApprovesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, answering, taken := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		w := open(t, &model{todo: []reply{asking(asked, answering, answer("r1", "", look("c1")))}}, always)
		w.add("go", true)
		<-asked
		go func() { taken <- w.conv.Append(t.Context(), []event.Content{event.Text("hurry")}, "", true) }()
		synctest.Wait()
		close(answering)
		want(t, w.rest(), "SystemPromptEvent", "user says go", "status running", "look is called as c1", "user says hurry", "status waiting_for_confirmation")
		if err := <-taken; err != nil {
			t.Error(err)
		}
	})
}

func TestAnInterruptEndsTheRunBeforeItReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, taken := make(chan struct{}), make(chan error, 1)
		w := open(t, &model{todo: []reply{asking(asked, nil, nil), answer("r2", "Back.")}}, nil)
		w.add("go", true)
		<-asked
		go func() { taken <- w.conv.Append(t.Context(), []event.Content{event.Text("wait")}, "", true) }()
		synctest.Wait()
		w.do(w.conv.Halt)
		if got := w.status(); got != event.Paused {
			t.Errorf("after the interrupt it is %s", got)
		}
		want(t, w.rest(), "SystemPromptEvent", "user says go", "status running", "status paused", "InterruptEvent", "user says wait")
		if err := <-taken; err != nil {
			t.Error(err)
		}
		w.do(w.conv.Run)
		want(t, w.rest(), "status running", "agent says Back.", "status finished")
	})
}

func TestWhatIsIdleIsPaused(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]func(*conversation.Conversation, context.Context) error{
		"pause": (*conversation.Conversation).Suspend, "interrupt": (*conversation.Conversation).Halt,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, &model{todo: []reply{answer("r1", "Hello.")}}, nil)
			w.do(func(ctx context.Context) error { return pause(w.conv, ctx) })
			want(t, w.rest(), "status paused", "PauseEvent")
			w.do(func(ctx context.Context) error { return pause(w.conv, ctx) }) // nothing more
			w.add("hi", true)
			want(t, w.rest(), "SystemPromptEvent", "user says hi", "status running", "agent says Hello.", "status finished")
			w.do(func(ctx context.Context) error { return pause(w.conv, ctx) })
			if got := w.status(); got != event.Finished {
				t.Errorf("what has finished is %s", got)
			}
		})
	}
}

// An agent that answered while a client paused it has finished, and is not asked once
// more.
func TestAPausedAnswerIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	asked, answering := make(chan struct{}), make(chan struct{})
	w := open(t, &model{todo: []reply{asking(asked, answering, answer("r1", "One."))}}, nil)
	w.add("go", true)
	<-asked
	w.do(w.conv.Suspend)
	close(answering)
	want(t, w.rest(), "SystemPromptEvent", "user says go", "status running", "agent says One.", "status paused", "PauseEvent")
	w.do(w.conv.Run)
	want(t, w.rest(), "status running", "status finished")
}

func TestThePolicyAndTheAnalyzerAreToldAndKept(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{
		answer("r1", "", callOf("c1", "look", `{"at":"it","security_risk":"LOW"}`)),
		answer("r2", "", callOf("c2", "look", `{"at":"it","security_risk":"MEDIUM"}`)),
	}}, nil)
	risky := json.RawMessage(`{"threshold":"MEDIUM","confirm_unknown":true,"kind":"ConfirmRisky"}`)
	for range 2 { // the second time nothing changes
		w.do(func(ctx context.Context) error { return w.conv.SetPolicy(ctx, risky) })
		w.do(func(ctx context.Context) error { return w.conv.SetAnalyzer(ctx, json.RawMessage(agentapi.AnalyzerLLM)) })
	}
	w.reopen()
	w.add("go", true)
	want(t, w.rest(), "SystemPromptEvent", "user says go", "status running", "look is called as c1", "SecurityAnalysisEvent", "c1 has a result",
		"look is called as c2", "SecurityAnalysisEvent", "status waiting_for_confirmation")
	w.do(func(ctx context.Context) error { return w.conv.SetAnalyzer(ctx, nil) })
	if got := value(w.next(1), "security_analyzer"); got != "null" {
		t.Errorf("the analyzer is told to be %q", got)
	}
}

func TestASecretIsMaskedFromThenOn(t *testing.T) {
	t.Parallel()
	secrets := secretenv.New(secretenv.Config{})
	w := open(t, &model{todo: []reply{answer("r1", "It is hunter2-hunter2.")}}, func(c *conversation.Config, _ *store.State) { c.Secrets = secrets })
	told := ""
	w.do(func(ctx context.Context) error {
		return w.conv.AddSecrets(ctx, conversation.Secrets{
			Values: map[string]secretenv.Secret{"TOKEN": secretenv.Static("hunter2-hunter2", "")},
			Stored: map[string]json.RawMessage{"TOKEN": json.RawMessage(`{"kind":"StaticSecret","value":"gAAAAAsealed"}`)},
			Added:  func(registry json.RawMessage) { told = string(registry) },
		})
	})
	if !strings.Contains(told, "gAAAAAsealed") {
		t.Errorf("the registry is told as %s", told)
	}
	want(t, w.play("what is it?"), "SystemPromptEvent", "user says what is it?", "status running", "agent says It is <secret-hidden>.", "status finished")
	s, err := store.Peek(w.root, w.id)
	if err != nil || string(s.SecretRegistry) != told {
		t.Errorf("stored is %s, %v", s.SecretRegistry, err)
	}
}

// gated models are made when the gate is open.
type gated struct {
	*model
	gate chan struct{}
}

func (g *gated) Model(ctx context.Context, c conversation.Choice) (llm.Model, error) {
	<-g.gate
	return g.model.Model(ctx, c)
}

// A run is one from the moment at which it was asked for, also while its model and its
// tools are made and its status is the one before.
func TestARunThatBeginsIsARun(t *testing.T) {
	t.Parallel()
	began := []string{"SystemPromptEvent", "user says hi", "status running"}
	answered, paused := append(began[:3:3], "agent says Hello.", "status finished"), append(began[:3:3], "status paused", "PauseEvent")
	busy := func(err error) bool { return errors.Is(err, agentapi.ErrBusy) }
	works := func(err error) bool { return err == nil }
	for name, tt := range map[string]struct {
		do   func(*conversation.Conversation, context.Context) error
		ends func(error) bool
		want []string
	}{
		"run": {(*conversation.Conversation).Run, busy, answered},
		"decide": {func(c *conversation.Conversation, ctx context.Context) error {
			return c.Decide(ctx, agentapi.Decision{Accept: true})
		}, busy, answered},
		"pause":     {(*conversation.Conversation).Suspend, works, paused},
		"interrupt": {(*conversation.Conversation).Halt, works, paused},
		// of every API but that of OpenHands
		"end it later": {(*conversation.Conversation).Pause, works, paused},
		"end it now":   {(*conversation.Conversation).Interrupt, works, paused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := &gated{&model{todo: []reply{answer("r1", "Hello.")}}, make(chan struct{})}
				w := open(t, g.model, func(c *conversation.Config, _ *store.State) { c.Models = g })
				over := make(chan error, 1)
				go func() { over <- w.conv.Append(t.Context(), []event.Content{event.Text("hi")}, "", false) }()
				g.gate <- struct{}{}
				if err := <-over; err != nil {
					t.Fatal(err)
				}
				w.do(w.conv.Run)
				synctest.Wait()
				go func() { over <- tt.do(w.conv, t.Context()) }()
				synctest.Wait()
				close(g.gate)
				if err := <-over; !tt.ends(err) {
					t.Errorf("while the run begins: %v", err)
				}
				want(t, w.rest(), tt.want...)
				synctest.Wait()
				if n := len(g.requests()); n != strings.Count(strings.Join(tt.want, " "), "agent says") {
					t.Errorf("the model was asked %d times", n)
				}
			})
		})
	}
}
