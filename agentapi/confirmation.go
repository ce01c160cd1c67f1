package agentapi

import "encoding/json"

// Confirmation says which actions of a conversation wait for a person.
type Confirmation string

// The modes, from the one that asks least.
const (
	ConfirmNever  Confirmation = "never"  // no action waits
	ConfirmRisky  Confirmation = "risky"  // those wait that the model calls risky, or does not rate
	ConfirmAlways Confirmation = "always" // every action waits that does something
)

// The policies of OpenHands and the analyzer, as they are on the wire.
const (
	PolicyNever  = `{"kind":"NeverConfirm"}`
	PolicyRisky  = `{"kind":"ConfirmRisky","threshold":"HIGH","confirm_unknown":true}`
	PolicyAlways = `{"kind":"AlwaysConfirm"}`
	// AnalyzerLLM asks the model to rate its own actions; ConfirmRisky needs it.
	AnalyzerLLM = `{"kind":"LLMSecurityAnalyzer"}`
)

// Policy is the mode as a policy of OpenHands.
func (c Confirmation) Policy() json.RawMessage {
	switch c {
	case ConfirmNever:
		return json.RawMessage(PolicyNever)
	case ConfirmRisky:
		return json.RawMessage(PolicyRisky)
	case ConfirmAlways:
	}
	return json.RawMessage(PolicyAlways)
}

// Below reports whether fewer actions wait than with other.
func (c Confirmation) Below(other Confirmation) bool { return c.rank() < other.rank() }

func (c Confirmation) rank() int {
	switch c {
	case ConfirmNever:
		return 0
	case ConfirmRisky:
		return 1
	case ConfirmAlways:
	}
	return 2
}

// ConfirmationOf is the mode of a policy. One that is not known counts as the
// mode that asks most.
func ConfirmationOf(policy json.RawMessage) Confirmation {
	var p struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(policy, &p) != nil {
		return ConfirmAlways
	}
	switch p.Kind {
	case "NeverConfirm":
		return ConfirmNever
	case "ConfirmRisky":
		return ConfirmRisky
	}
	return ConfirmAlways
}

// Rated reports whether an analyzer rates the actions of a conversation.
func Rated(analyzer json.RawMessage) bool { return len(analyzer) > 0 && string(analyzer) != "null" }
