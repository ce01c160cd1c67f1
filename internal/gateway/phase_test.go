package gateway_test

import (
	"testing"

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
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
	if got := (gateway.Phase{Name: "of a later version"}).Waits(); got != "" {
		t.Errorf("an unknown phase waits for %q", got)
	}
}
