package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/uuid"
)

// another appends an event as a program with OpenHands' SDK does, which has the
// lock of the log and no lease.
func (w *world) another(ctx context.Context, source, parent string, body event.Body) event.Event {
	w.t.Helper()
	dir := filepath.Join(store.Path(w.root, w.id), "events")
	lock, err := filelock.Acquire(ctx, filepath.Join(dir, ".eventlog.lock"), filelock.Options{})
	if err != nil {
		w.t.Fatalf("the log is locked while nothing is written: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "event-*.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	e := event.New(uuid.New(), "2026-11-29T04:35:00.000000", source, parent, body)
	data, err := e.MarshalJSON()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("event-%05d-%s.json", len(files), e.ID)), data, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		w.t.Fatal(err)
	}
	return e
}

func says(role, text string) *event.Message {
	return &event.Message{LLMMessage: event.LLMMessage{Role: role, Content: []event.Content{event.Text(text)}}}
}

// onDisk is the log as another process finds it.
func (w *world) onDisk() (ids []string) {
	w.t.Helper()
	events, _, err := store.Page(w.root, w.id, "", false, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

// once fails for an id that is there twice.
func once(t *testing.T, ids []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			t.Errorf("event %s is there twice", id)
		}
		seen[id] = true
	}
}

func TestTheConversationGoesOnBehindAnotherWriter(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "Hello."), answer("r2", "Both.")}}, nil)
	events := w.play("hi")
	var head string
	for _, e := range events {
		if m, ok := e.Body.(*event.Message); ok && m.LLMMessage.Role == "assistant" {
			head = e.ID
		}
	}
	theirs := w.another(t.Context(), event.SourceUser, head, says("user", "from a script"))
	last := w.another(t.Context(), event.SourceAgent, theirs.ID, says("assistant", "to a script"))
	// The end of their run must not be read as the end of ours.
	w.another(t.Context(), event.SourceEnvironment, last.ID, &event.StateUpdate{Key: event.KeyStatus, Value: json.RawMessage(`"finished"`)})
	more := w.play("again")
	want(t, more, "user says again", "status running", "agent says Both.", "status finished")
	if parent := more[0].ParentID; parent != last.ID {
		t.Errorf("the message follows %s, want %s", parent, last.ID)
	}
	var shown []string
	for _, m := range w.model.requests()[1].Messages[1:] {
		shown = append(shown, event.PlainText(m.Content))
	}
	if diff := cmp.Diff([]string{"hi", "Hello.", "from a script", "to a script", "again"}, shown); diff != "" {
		t.Errorf("what the model is shown (-want +got):\n%s", diff)
	}
	w.haveAll(append(events, more...), 3)
}

// haveAll checks that the log has what was told, in that order, and so many events of
// others.
func (w *world) haveAll(events []event.Event, others int) {
	w.t.Helper()
	told := make([]string, 0, len(events))
	for _, e := range events {
		told = append(told, e.ID)
	}
	stored := w.onDisk()
	once(w.t, stored)
	ours := slices.DeleteFunc(slices.Clone(stored), func(id string) bool { return !slices.Contains(told, id) })
	if diff := cmp.Diff(told, ours); diff != "" || len(stored) != len(told)+others {
		w.t.Errorf("the log has %d events, %d were told (-told +stored):\n%s", len(stored), len(told), diff)
	}
}

func TestAnotherWriterDuringARunLosesNothing(t *testing.T) {
	t.Parallel()
	var w *world
	write := func(ctx context.Context) {
		theirs := w.another(ctx, event.SourceUser, store.Root, says("user", "from a script"))
		w.another(ctx, event.SourceEnvironment, theirs.ID, &event.StateUpdate{Key: event.KeyStatus, Value: json.RawMessage(`"finished"`)})
	}
	w = open(t, &model{todo: []reply{
		func(ctx context.Context, onDelta func(llm.Delta)) (llm.Response, error) {
			write(ctx)
			return answer("r1", "", look("c1"))(ctx, onDelta)
		}, answer("r2", "Done."),
	}}, nil)
	w.look = func(ctx context.Context) (string, error) { write(ctx); return "seen", nil }
	events := w.play("go")
	want(t, events, "SystemPromptEvent", "user says go", "status running", "look is called as c1",
		"c1 has a result", "agent says Done.", "status finished")
	w.haveAll(events, 4)
	for _, m := range w.model.requests()[1].Messages {
		if text := event.PlainText(m.Content); strings.Contains(text, "script") {
			t.Errorf("the model is shown another branch: %q", text)
		}
	}
}
