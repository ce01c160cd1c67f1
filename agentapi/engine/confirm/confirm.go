// Package confirm decides whether a person has to say yes to an action, by the
// policy and the analyzer that a conversation has stored.
//
// What it does not know it takes for the more careful choice: a policy of a
// newer OpenHands confirms, an analyzer that is not built here finds every
// action risky.
package confirm

import "encoding/json"

// The risks of an action; unknown is none of the ordered ones.
const (
	unknown = "UNKNOWN"
	high    = "HIGH"
)

var order = map[string]int{"LOW": 1, "MEDIUM": 2, high: 3}

// Analyzes reports whether the model's own word on the risk of a call is asked
// for.
func Analyzes(analyzer json.RawMessage) bool { return kind(analyzer) == "LLMSecurityAnalyzer" }

// Needed reports whether an action of that risk, in the model's own word, has to
// be confirmed.
func Needed(policy, analyzer json.RawMessage, risk string) bool {
	switch kind(policy) {
	case "NeverConfirm":
		return false
	case "ConfirmRisky":
		return risky(policy, assess(analyzer, risk))
	}
	return true
}

func assess(analyzer json.RawMessage, risk string) string {
	switch {
	case Analyzes(analyzer):
		return risk
	case kind(analyzer) == "":
		return unknown
	}
	return high
}

func risky(policy json.RawMessage, risk string) bool {
	p := struct {
		Threshold      string `json:"threshold"`
		ConfirmUnknown bool   `json:"confirm_unknown"`
	}{high, true}
	if json.Unmarshal(policy, &p) != nil {
		return true
	}
	level, known := order[risk]
	if !known {
		return p.ConfirmUnknown
	}
	return level >= order[p.Threshold]
}

func kind(data json.RawMessage) string {
	var v struct {
		Kind string `json:"kind"`
	}
	if len(data) == 0 {
		return ""
	}
	if json.Unmarshal(data, &v) != nil {
		return "?"
	}
	return v.Kind
}
