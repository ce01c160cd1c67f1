package confirm_test

import (
	"encoding/json"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/confirm"
)

func TestNeeded(t *testing.T) {
	t.Parallel()
	const medium = `{"kind":"ConfirmRisky","threshold":"MEDIUM","confirm_unknown":false}`
	for _, tt := range []struct {
		policy, analyzer, risk string
		want                   bool
	}{
		{confirm.Never, confirm.LLM, "HIGH", false},
		{confirm.Always, "", "LOW", true},
		{confirm.Risky, confirm.LLM, "LOW", false},
		{confirm.Risky, confirm.LLM, "MEDIUM", false},
		{confirm.Risky, confirm.LLM, "HIGH", true},
		{confirm.Risky, confirm.LLM, "UNKNOWN", true},
		{confirm.Risky, confirm.LLM, "", true},
		{confirm.Risky, "", "LOW", true}, // nobody judges: unknown
		{confirm.Risky, "null", "LOW", true},
		{confirm.Risky, `{"kind":"GraySwanAnalyzer"}`, "LOW", true}, // not here: high
		{medium, confirm.LLM, "MEDIUM", true},
		{medium, confirm.LLM, "UNKNOWN", false},
		{`{"kind":"ConfirmRisky"}`, confirm.LLM, "MEDIUM", false}, // the defaults
		{`{"kind":"ConfirmRisky"}`, confirm.LLM, "UNKNOWN", true},
		{`{"kind":"NewPolicy"}`, confirm.LLM, "LOW", true},
		{`{"kind":"ConfirmRisky","threshold":7}`, confirm.LLM, "LOW", true},
		{`{`, confirm.LLM, "LOW", true},
		{``, ``, "LOW", true},
	} {
		if got := confirm.Needed(json.RawMessage(tt.policy), json.RawMessage(tt.analyzer), tt.risk); got != tt.want {
			t.Errorf("%s with %s, risk %q: %v, want %v", tt.policy, tt.analyzer, tt.risk, got, tt.want)
		}
	}
}
