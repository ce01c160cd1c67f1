//go:build unix

package engine_test

import (
	"errors"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// A run is paused, and continues when a client asks for it.
func TestRestPausesWhatRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	c := w.controlled()
	w.llm.Reply(terminal("sleep 60"), llmtest.Text("Done."))
	if err := c.Append(w.ctx(), control.Message{Content: []event.Content{event.Text("go")}}, true); err != nil {
		t.Fatal(err)
	}
	w.awaitAction()
	if err := w.conv.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.backend.Control().Rest(w.ctx()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.State(w.ctx()); !errors.Is(err, agentapi.ErrUnavailable) {
		t.Errorf("the conversation is open: %v", err)
	}
	r, err := w.backend.Control().Record(w.ctx(), w.id)
	if err != nil || r.Status != event.Paused {
		t.Fatalf("status %q, %v", r.Status, err)
	}
	w.conv = nil
	w.appended(w.controlled(), "go on")
	w.status(event.Finished)
}
