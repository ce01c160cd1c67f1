package confirm_test

import (
	"encoding/json"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/confirm"
)

func TestNeeded(t *testing.T) {
	t.Parallel()
	const medium = `{"kind":"ConfirmRisky","threshold":"MEDIUM","confirm_unknown":false}`
	for _, tt := range []struct {
		policy, analyzer, risk string
		want                   bool
	}{
		{agentapi.PolicyNever, agentapi.AnalyzerLLM, "HIGH", false},
		{agentapi.PolicyAlways, "", "LOW", true},
		{agentapi.PolicyRisky, agentapi.AnalyzerLLM, "LOW", false},
		{agentapi.PolicyRisky, agentapi.AnalyzerLLM, "MEDIUM", false},
		{agentapi.PolicyRisky, agentapi.AnalyzerLLM, "HIGH", true},
		{agentapi.PolicyRisky, agentapi.AnalyzerLLM, "UNKNOWN", true},
		{agentapi.PolicyRisky, agentapi.AnalyzerLLM, "", true},
		{agentapi.PolicyRisky, "", "LOW", true}, // nobody judges: unknown
		{agentapi.PolicyRisky, "null", "LOW", true},
		{agentapi.PolicyRisky, `{"kind":"GraySwanAnalyzer"}`, "LOW", true}, // not here: high
		{medium, agentapi.AnalyzerLLM, "MEDIUM", true},
		{medium, agentapi.AnalyzerLLM, "UNKNOWN", false},
		{`{"kind":"ConfirmRisky"}`, agentapi.AnalyzerLLM, "MEDIUM", false}, // the defaults
		{`{"kind":"ConfirmRisky"}`, agentapi.AnalyzerLLM, "UNKNOWN", true},
		{`{"kind":"NewPolicy"}`, agentapi.AnalyzerLLM, "LOW", true},
		{`{"kind":"ConfirmRisky","threshold":7}`, agentapi.AnalyzerLLM, "LOW", true},
		{`{`, agentapi.AnalyzerLLM, "LOW", true},
		{``, ``, "LOW", true},
	} {
		if got := confirm.Needed(json.RawMessage(tt.policy), json.RawMessage(tt.analyzer), tt.risk); got != tt.want {
			t.Errorf("%s with %s, risk %q: %v, want %v", tt.policy, tt.analyzer, tt.risk, got, tt.want)
		}
	}
}
