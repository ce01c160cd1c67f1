package watch_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/watch"
	"github.com/ohgw/ohgw/agentapi/event"
)

// A slow reader loses nothing: it gets what came meanwhile, and then the end.
func TestASlowReaderGetsEverythingAndThenTheEnd(t *testing.T) {
	t.Parallel()
	var w watch.Watchers
	made := func(id string) event.Event {
		return event.New(id, "", event.SourceUser, "", &event.Pause{})
	}
	slow := w.Open(watch.Events(made("a")), watch.Events(made("b")))
	closed := w.Open()
	w.Publish(made("c"))
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	w.Publish(made("d"))
	over := errors.New("over")
	w.End(over)
	if !w.None() {
		t.Error("a stream is left after the end")
	}
	var got []string
	for {
		e, err := slow.Next(t.Context())
		if err != nil {
			if !errors.Is(err, over) {
				t.Errorf("the slow reader ends with %v, want %v", err, over)
			}
			break
		}
		got = append(got, e.ID)
	}
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("the slow reader got %q, want %q", got, want)
	}
	if e, err := closed.Next(t.Context()); err == nil {
		t.Errorf("a closed stream gave %s", e.ID)
	}
}
