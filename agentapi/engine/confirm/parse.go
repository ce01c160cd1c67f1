package confirm

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrElsewhere says that only an agent-server has such an analyzer.
var ErrElsewhere = errors.New("only an agent-server has this security analyzer")

// ParsePolicy reads a policy that a client sends, and gives it with all of its
// members. The error is a sentence for the client.
func ParsePolicy(policy json.RawMessage) (json.RawMessage, error) {
	p := struct {
		Kind           string `json:"kind"`
		Threshold      string `json:"threshold"`
		ConfirmUnknown bool   `json:"confirm_unknown"`
	}{Threshold: high, ConfirmUnknown: true}
	if err := json.Unmarshal(policy, &p); err != nil {
		return nil, fmt.Errorf("the confirmation policy cannot be read: %w", err)
	}
	switch p.Kind {
	case "NeverConfirm", "AlwaysConfirm":
		return json.Marshal(struct {
			Kind string `json:"kind"`
		}{p.Kind})
	case "ConfirmRisky":
	default:
		return nil, fmt.Errorf("the confirmation policy %q is not known; use NeverConfirm, ConfirmRisky or AlwaysConfirm", p.Kind)
	}
	if order[p.Threshold] == 0 {
		return nil, fmt.Errorf("the threshold %q is not known; use LOW, MEDIUM or HIGH", p.Threshold)
	}
	return json.Marshal(struct {
		Threshold      string `json:"threshold"`
		ConfirmUnknown bool   `json:"confirm_unknown"`
		Kind           string `json:"kind"`
	}{p.Threshold, p.ConfirmUnknown, p.Kind})
}

// ParseAnalyzer reads an analyzer that a client sends; null is nil. The error is a
// sentence for the client, and ErrElsewhere for one that is OpenHands' and not
// built here.
func ParseAnalyzer(analyzer json.RawMessage) (json.RawMessage, error) {
	if judge, err := newAnalyzer(analyzer); judge == nil || err != nil {
		return nil, err
	}
	return analyzer, nil
}
