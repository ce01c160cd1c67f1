package conversation_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

func (w *world) navigate(id string) {
	w.t.Helper()
	w.do(func(ctx context.Context) error { return w.conv.Navigate(ctx, id) })
	w.rest()
}

// shown are the texts that the model was shown last.
func (w *world) shown() string {
	requests := w.model.requests()
	var parts []string
	for _, m := range requests[len(requests)-1].Messages[1:] {
		parts = append(parts, event.PlainText(m.Content))
	}
	return strings.Join(parts, "|")
}

func TestTheAgentGoesOnFromAnotherEvent(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "One."), answer("r2", "Two."), answer("r3", "Three."), answer("r4", "Four.")}}, nil)
	first := w.play("first")
	second := w.play("second")
	w.navigate(first[3].ID) // "One."
	w.reopen()
	w.play("third")
	if got := w.shown(); got != "first|One.|third" {
		t.Errorf("the model was shown %q", got)
	}
	w.navigate(second[0].ID)
	if s, err := w.conv.State(t.Context()); err != nil || s.LeafEventID != second[0].ID {
		t.Errorf("the head is %s, %v", s.LeafEventID, err)
	}
	w.play("fourth")
	if got := w.shown(); got != "first|One.|secondfourth" && got != "first|One.|second\nfourth" {
		t.Errorf("the model was shown %q", got)
	}
}

// A process that dies after it went to another event has gone there.
func TestTheEventIsThereAfterACrash(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "One."), answer("r2", "Two."), answer("r3", "Three."), answer("r4", "Four.")}}, nil)
	first := w.play("first")
	w.play("second")
	w.navigate(first[3].ID)
	state, err := os.ReadFile(store.Path(w.root, w.id) + "/base_state.json")
	if err != nil {
		t.Fatal(err)
	}
	w.play("third")
	if err := w.conv.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(store.Path(w.root, w.id)+"/base_state.json", state, 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := store.Open(w.root, w.id, holder())
	if err != nil {
		t.Fatal(err)
	}
	w.start(dir)
	w.play("fourth")
	if got := w.shown(); got != "first|One.|third|Three.|fourth" {
		t.Errorf("the model was shown %q", got)
	}
}

func TestTheBeginningIsAnEventToGoTo(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "One."), answer("r2", "Two.")}}, nil)
	w.play("first")
	w.navigate("")
	w.reopen()
	want(t, w.play("second"), "SystemPromptEvent", "user says second", "status running", "agent says Two.", "status finished")
	if got := w.shown(); got != "second" {
		t.Errorf("the model was shown %q", got)
	}
}

func TestAnEventThatIsNotThere(t *testing.T) {
	t.Parallel()
	asked, answering := make(chan struct{}), make(chan struct{})
	w := open(t, &model{todo: []reply{asking(asked, answering, answer("r1", "One."))}}, nil)
	if err := w.conv.Navigate(t.Context(), "nowhere"); !errors.Is(err, store.ErrNoEvent) {
		t.Errorf("error %v, want ErrNoEvent", err)
	}
	w.send("go")
	<-asked
	if err := w.conv.Navigate(t.Context(), ""); !errors.Is(err, agentapi.ErrBusy) {
		t.Errorf("during a run: %v, want ErrBusy", err)
	}
	close(answering)
	w.rest()
}

// What waits on one branch is neither run on another one nor asked about there.
func TestAnActionOfAnotherBranchIsNotRun(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "Well.")}}, always)
	w.look = func(context.Context) (string, error) {
		t.Error("the tool was called")
		return "", nil
	}
	events := w.play("go")
	w.navigate(events[1].ID)
	if got := w.status(); got != event.Idle {
		t.Errorf("it is %s", got)
	}
	w.do(w.conv.Run)
	want(t, w.rest(), "status running", "agent says Well.", "status finished")
	w.navigate(events[3].ID) // the action; it no longer waits for confirmation
	if err := w.conv.Decide(t.Context(), agentapi.Decision{Accept: true}); !errors.Is(err, agentapi.ErrRefused) {
		t.Errorf("a decision: %v", err)
	}
}
