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

// ConfirmationOf reads the mode of a policy. One that is not known counts as the mode
// that asks most.
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

// MetBy reports whether with a policy at least those actions wait that wait in this
// mode. The empty mode is met by every policy.
func (c Confirmation) MetBy(policy json.RawMessage) bool {
	if c == "" || c == ConfirmNever {
		return true
	}
	p := struct {
		Kind    string `json:"kind"`
		Unknown bool   `json:"confirm_unknown"`
	}{Unknown: true}
	if json.Unmarshal(policy, &p) != nil {
		return false
	}
	return p.Kind == "AlwaysConfirm" || c == ConfirmRisky && p.Kind == "ConfirmRisky" && p.Unknown
}

// Stricter is the mode of the two in which more actions wait. The empty mode is
// lower than every other.
func (c Confirmation) Stricter(other Confirmation) Confirmation {
	if c == "" || other != "" && c.Below(other) {
		return other
	}
	return c
}

// Rated reports whether an analyzer rates the actions of a conversation.
func Rated(analyzer json.RawMessage) bool { return len(analyzer) > 0 && string(analyzer) != "null" }
