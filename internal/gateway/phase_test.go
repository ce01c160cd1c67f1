package gateway_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/gateway"
)

func TestAPhaseSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]gateway.Phase{
		"loading the model":                          {Name: "loading"},
		"reading the prompt":                         {Name: "reading"},
		"reading the prompt, 25 tokens":              {Name: "reading", Prompt: 25},
		"reading the prompt, 1,925 tokens, 52%":      {Name: "reading", Prompt: 1925, Read: 1001},
		"reading the prompt, 1,000,000 tokens, 100%": {Name: "reading", Prompt: 1_000_000, Read: 2_000_000},
		"": {Name: "writing"},
	} {
		if got := p.Waits(); got != want {
			t.Errorf("%+v: Waits = %q, want %q", p, got, want)
		}
	}
	if got := (gateway.Phase{Name: "of a later version"}).Waits(); got != "" {
		t.Errorf("an unknown phase waits for %q", got)
	}
}

// A client that asks for no details gets a repeated request with the line that others read.
func TestARepeatedRequestHasItsLine(t *testing.T) {
	t.Parallel()
	c, _ := start(t, script(daemontest.Retry(event.Retry{Attempt: 2, Of: 5, Seconds: 16, Cause: "it is busy"}), daemontest.Finish("Yes.")))
	var got []gateway.Retry
	for p, err := range c.Ask(t.Context(), gateway.Question{Model: "openhands", Text: "hi"}) {
		if err != nil {
			t.Fatalf("the answer ended with: %v", err)
		}
		switch p := p.(type) {
		case gateway.Retry:
			got = append(got, p)
		case gateway.Progress:
			t.Errorf("the line came twice: %q", string(p))
		}
	}
	want := []gateway.Retry{{Attempt: 2, Of: 5, Seconds: 16, Cause: "it is busy", Line: "it is busy; attempt 2 of 5 in 16 s"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("repeated requests (-want +got):\n%s", diff)
	}
}
