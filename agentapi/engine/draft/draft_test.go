package draft_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/draft"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Another attempt is told of in front of its first piece, each time.
func TestADraftTellsOfAnotherAttempt(t *testing.T) {
	t.Parallel()
	attempt := 1
	var got []string
	live := draft.Draft{
		Emit:  func(d event.Delta) { got = append(got, fmt.Sprintf("%d %q", attempt, *d.Content)) },
		Again: func() { attempt++ },
	}
	for _, d := range []llm.Delta{{Text: "a"}, {Text: "b"}, {Restart: true}, {Restart: true}, {Text: "c"}} {
		live.Add(d)
	}
	if diff := cmp.Diff([]string{`1 "a"`, `1 "b"`, `3 "\n\nc"`}, got); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
}
