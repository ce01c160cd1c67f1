package agentserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/event"
)

func TestFramesBeforeTheFirstSnapshotAreBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x", strings.Repeat("x", 64<<10)} {
		s := &stream{}
		for i := range 4 * min(maxHeld, maxHeldBytes/len(text)) {
			if err := s.hold(event.New(fmt.Sprint(i), "", event.SourceAgent, "", &event.Delta{Content: &text})); err != nil {
				t.Fatal(err)
			}
			if len(s.held) > maxHeld || s.heldBytes > maxHeldBytes {
				t.Fatalf("%d frames of %d bytes are kept", len(s.held), s.heldBytes)
			}
		}
		if !s.spilled || len(s.held) != 0 {
			t.Errorf("%d frames are kept of a stream with a gap", len(s.held))
		}
	}
}

func TestIDsOfALongRunAreBounded(t *testing.T) {
	t.Parallel()
	var r recent
	anchor := ""
	for i := range 20 * maxRecent {
		id := fmt.Sprint(i)
		if first, forgot := r.add(id); forgot {
			anchor = first
		}
		if !r.has(id) || anchor != "" && !r.has(anchor) || len(r.set) > maxRecent || len(r.order) != len(r.set) {
			t.Fatalf("after %s: %d ids in the set, %d in order, anchor %q", id, len(r.set), len(r.order), anchor)
		}
	}
	if r.has("0") || anchor == "" {
		t.Error("nothing was forgotten")
	}
}
