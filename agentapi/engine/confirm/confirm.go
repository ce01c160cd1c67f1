// Package confirm decides whether a person has to say yes to an action, by the
// policy and the analyzer that a conversation has stored.
//
// What it does not know it takes for the more careful choice: a policy of a
// newer OpenHands confirms, an analyzer that is not built here finds every
// action risky. Package shellrisk reads the commands of an action.
package confirm

import (
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/event"
)

// The risks of an action; unknown has no place in their order.
const (
	unknown = "UNKNOWN"
	low     = "LOW"
	medium  = "MEDIUM"
	high    = "HIGH"
)

var order = map[string]int{low: 1, medium: 2, high: 3}

// Analyzes reports whether the model's own word on the risk of a call is kept: it is
// where something analyzes actions.
func Analyzes(analyzer json.RawMessage) bool { return kind(analyzer) != "" }

// Needed reports whether an action has to be confirmed.
func Needed(policy, analyzer json.RawMessage, action *event.Action) bool {
	switch kind(policy) {
	case "NeverConfirm":
		return false
	case "ConfirmRisky":
		risk, _ := assess(analyzer, action)
		return risky(policy, risk)
	}
	return true
}

// Analysis returns the analyzer's ratings of the actions of an answer, in the form of the
// log. It returns nil without an analyzer, and for a finish or a think alone, which need
// no confirmation. Under a policy that never asks, OpenHands writes an analysis too; it
// decides nothing and is left out here, because releases before 1.54 cannot open a log
// with an analysis.
func Analysis(policy, analyzer json.RawMessage, actions []event.Event) *event.SecurityAnalysis {
	if kind(analyzer) == "" || neverAsks(policy) || len(actions) == 0 || Exempt(actions) {
		return nil
	}
	found := &event.SecurityAnalysis{
		Analyzer: kind(analyzer), Policy: kind(policy),
		Risks: make(map[string]string, len(actions)), Details: map[string]json.RawMessage{},
	}
	for _, e := range actions {
		risk, here := assess(analyzer, e.Body.(*event.Action))
		if found.Risks[e.ID] = risk; !here { // as OpenHands says it of one that fails
			found.Details[e.ID] = json.RawMessage(`{"error":"this analyzer is not available here"}`)
		}
	}
	return found
}

// Exempt reports whether the actions of an answer are a finish or a think alone: they
// do nothing that could be refused.
func Exempt(actions []event.Event) bool {
	if len(actions) != 1 {
		return false
	}
	name := actions[0].Body.(*event.Action).ToolName
	return name == "finish" || name == "think"
}

func neverAsks(policy json.RawMessage) bool {
	k := kind(policy)
	return k == "" || k == "NeverConfirm"
}

// assess is the risk of an action, and whether its analyzer is here.
func assess(data json.RawMessage, action *event.Action) (risk string, here bool) {
	judge, err := newAnalyzer(data)
	switch {
	case judge != nil:
		return judge.risk(action), true
	case err != nil:
		return high, false
	}
	return unknown, true
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
