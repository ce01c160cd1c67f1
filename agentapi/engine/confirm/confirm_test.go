package confirm_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/confirm"
	"github.com/ohgw/ohgw/agentapi/event"
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
		{agentapi.PolicyRisky, "", "LOW", true}, // no analyzer: unknown
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
		if got := confirm.Needed(json.RawMessage(tt.policy), json.RawMessage(tt.analyzer), &event.Action{SecurityRisk: tt.risk}); got != tt.want {
			t.Errorf("%s with %s, risk %q: %v, want %v", tt.policy, tt.analyzer, tt.risk, got, tt.want)
		}
	}
}

func TestAPolicyIsReadWithItsDefaults(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"kind":"NeverConfirm","more":1}`:                                  `{"kind":"NeverConfirm"}`,
		`{"kind":"AlwaysConfirm"}`:                                          `{"kind":"AlwaysConfirm"}`,
		`{"kind":"ConfirmRisky"}`:                                           `{"threshold":"HIGH","confirm_unknown":true,"kind":"ConfirmRisky"}`,
		`{"kind":"ConfirmRisky","threshold":"LOW","confirm_unknown":false}`: `{"threshold":"LOW","confirm_unknown":false,"kind":"ConfirmRisky"}`,
		`{"kind":"ConfirmRisky","threshold":"UNKNOWN"}`:                     "",
		`{"kind":"ConfirmRisky","threshold":1}`:                             "",
		`{"kind":"Sometimes"}`:                                              "",
		`[]`:                                                                "", ``: "", `null`: "",
	} {
		got, err := confirm.ParsePolicy(json.RawMessage(in))
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s is %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestAnAnalyzerThatIsNotHereIsRefused(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`{"kind":"LLMSecurityAnalyzer"}`, `{"kind":"PolicyRailSecurityAnalyzer"}`, `{"kind":"PatternSecurityAnalyzer","high_patterns":[["a","b","c"]]}`,
		`{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"PatternSecurityAnalyzer"}],"propagate_unknown":true}`,
	} {
		if got, err := confirm.ParseAnalyzer(json.RawMessage(in)); string(got) != in || err != nil {
			t.Errorf("%s is %s, %v", in, got, err)
		}
	}
	for _, in := range []string{`null`, ``} {
		if got, err := confirm.ParseAnalyzer(json.RawMessage(in)); got != nil || err != nil {
			t.Errorf("%q is %s, %v", in, got, err)
		}
	}
	for in, elsewhere := range map[string]bool{
		`{"kind":"GraySwanAnalyzer"}`: true, `{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"GraySwanAnalyzer"}]}`: true,
		`{"kind":"Mine"}`: false, `{}`: false, `1`: false, `{"kind":"EnsembleSecurityAnalyzer","analyzers":[]}`: false,
		`{"kind":"EnsembleSecurityAnalyzer","analyzers":[null]}`: false, `{"kind":"EnsembleSecurityAnalyzer","analyzers":1}`: false,
		`{"kind":"PatternSecurityAnalyzer","high_patterns":[["(?=a)","b","c"]]}`: false, `{"kind":"PatternSecurityAnalyzer","high_patterns":[["a"]]}`: false,
		`{"kind":"PatternSecurityAnalyzer","medium_patterns":3}`: false,
	} {
		if got, err := confirm.ParseAnalyzer(json.RawMessage(in)); got != nil || err == nil || errors.Is(err, confirm.ErrElsewhere) != elsewhere {
			t.Errorf("%s is %s, %v", in, got, err)
		}
	}
}
