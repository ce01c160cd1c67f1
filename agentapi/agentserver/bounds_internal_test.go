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
