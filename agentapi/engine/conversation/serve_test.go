package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

func always(_ *conversation.Config, s *store.State) {
	s.ConfirmationPolicy = json.RawMessage(agentapi.PolicyAlways)
}

func TestACallWaitsForItsConfirmation(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "Done.")}}, always)
	want(t, w.play("go"), "SystemPromptEvent", "user says go", "status running", "look is called as c1", "status waiting_for_confirmation")
	if err := w.conv.Send(t.Context(), agentapi.Message{Text: "well?"}); !errors.Is(err, agentapi.ErrRefused) {
		t.Errorf("a message meanwhile: %v, want ErrRefused", err)
	}
	if err := w.conv.Decide(t.Context(), agentapi.Decision{Accept: true}); err != nil {
		t.Fatal(err)
	}
	want(t, w.rest(), "status running", "c1 has a result", "agent says Done.", "status finished")
}

func TestACallThatIsRejectedIsNotMade(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "As you wish.")}}, always)
	w.look = func(context.Context) (string, error) {
		t.Error("the tool was called")
		return "", nil
	}
	w.play("go")
	if err := w.conv.Decide(t.Context(), agentapi.Decision{Reason: "not now"}); err != nil {
		t.Fatal(err)
	}
	want(t, w.play("leave it"), "c1 is rejected: not now", "status idle", "user says leave it", "status running", "agent says As you wish.", "status finished")
}

func TestADecisionNeedsAQuestion(t *testing.T) {
	t.Parallel()
	w := open(t, &model{}, always)
	if err := w.conv.Decide(t.Context(), agentapi.Decision{Accept: true}); !errors.Is(err, agentapi.ErrRefused) {
		t.Errorf("error %v, want ErrRefused", err)
	}
}

// What is asked of the conversation is answered while its tool runs, and an
// interrupt ends the tool. The call has an answer in the log all the same.
func TestAnInterruptEndsTheToolAndAnswersItsCall(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "Stopped.")}}, nil)
	w.look = func(ctx context.Context) (string, error) {
		close(running)
		<-ctx.Done()
		return "", ctx.Err()
	}
	w.send("go")
	<-running
	if got := w.status(); got != event.Running {
		t.Errorf("the conversation is %s while its tool runs, want %s", got, event.Running)
	}
	if err := w.conv.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, w.rest(), "SystemPromptEvent", "user says go", "status running", "look is called as c1", "c1 has an error", "status paused", "InterruptEvent")
	want(t, w.play("why?"), "user says why?", "status running", "agent says Stopped.", "status finished")
}

// A message that comes during a step is behind it in the log, and the same run
// answers it.
func TestAMessageDuringAStepIsAnsweredByTheSameRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, taken := make(chan struct{}), make(chan error, 1)
		answering := make(chan struct{})
		w := open(t, &model{todo: []reply{func(context.Context, func(llm.Delta)) (llm.Response, error) {
			close(asked)
			<-answering
			return answer("r1", "", look("c1"))(t.Context(), nil)
		}, answer("r2", "Both.")}}, nil)
		w.send("one")
		<-asked
		go func() { taken <- w.conv.Send(t.Context(), agentapi.Message{Text: "two"}) }()
		synctest.Wait() // the message is in the inbox
		close(answering)
		want(t, w.rest(), "SystemPromptEvent", "user says one", "status running", "look is called as c1", "c1 has a result",
			"user says two", "agent says Both.", "status finished")
		if err := <-taken; err != nil {
			t.Errorf("the second message: %v", err)
		}
	})
}

func TestATurnIsThereAfterTheConversationWasOpenedAgain(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "One."), answer("r3", "Two.")}}, nil)
	w.play("first")
	before := len(w.model.requests()[1].Messages)
	w.reopen()
	want(t, w.play("second"), "user says second", "status running", "agent says Two.", "status finished")
	requests := w.model.requests()
	if got := len(requests[2].Messages); got != before+2 { // the answer and the new message
		t.Errorf("the model was shown %d messages, want %d", got, before+2)
	}
}

// A process that died during a call leaves an action without a result. The action is not
// run again.
func TestACallThatAProcessLeftIsAnsweredWhenItIsOpened(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "I do not know.")}}, nil)
	calls := 0
	w.look = func(ctx context.Context) (string, error) {
		calls++
		close(running)
		<-ctx.Done()
		return "", ctx.Err()
	}
	w.send("go")
	<-running
	copied := t.TempDir() // as it is when the process dies now
	if err := os.CopyFS(copied, os.DirFS(w.root)); err != nil {
		t.Fatal(err)
	}
	if err := w.conv.Close(); err != nil {
		t.Fatal(err)
	}
	dir, err := store.Open(copied, w.id, store.Options{Holder: store.Holder{Instance: "next", Host: "h", PID: 2, Alive: func(pid int) bool { return pid == 2 }}})
	if err != nil {
		t.Fatal(err)
	}
	w.start(dir)
	if got := w.status(); got != event.Failed {
		t.Errorf("the conversation is %s, want %s", got, event.Failed)
	}
	want(t, w.play("and?"), "user says and?", "status running", "agent says I do not know.", "status finished")
	if calls != 1 {
		t.Errorf("the tool was called %d times, want once", calls)
	}
}

func TestAClosedConversationSaysSo(t *testing.T) {
	t.Parallel()
	w := open(t, &model{}, nil)
	if err := w.conv.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.conv.Send(t.Context(), agentapi.Message{Text: "hi"}); !errors.Is(err, agentapi.ErrUnavailable) {
		t.Errorf("error %v, want ErrUnavailable", err)
	}
	if !w.conv.Ended() {
		t.Error("it has not ended")
	}
}

// A tool that panics has failed; the conversation goes on.
func TestAToolThatPanicsHasFailed(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "It broke.")}}, nil)
	w.look = func(context.Context) (string, error) { panic("broken") }
	events := w.play("go")
	want(t, events, "SystemPromptEvent", "user says go", "status running", "look is called as c1", "c1 has an error", "agent says It broke.", "status finished")
}
