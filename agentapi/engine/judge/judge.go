// Package judge asks whether the objective of a goal is reached, and reads the answer, in
// OpenHands' words. It calls no model.
package judge

import (
	_ "embed"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

var (
	//go:embed question.md
	questionText string
	//go:embed followup.md
	followupText string
	//go:embed resume.md
	resumeText string
)

// Verdict is what a judge says of a goal.
type Verdict = event.Verdict

// Parse reads a judge's answer. One that cannot be read says that nothing
// is proved: it is better to go on than to end too early.
func Parse(text string) Verdict {
	var in struct {
		Score    *float64 `json:"score"`
		Complete *bool    `json:"complete"`
		Missing  string   `json:"missing"`
	}
	from, to := strings.Index(text, "{"), strings.LastIndex(text, "}")
	if from < 0 || to < from || json.Unmarshal([]byte(text[from:to+1]), &in) != nil {
		return Verdict{Missing: "The judge gave no verdict that can be read."}
	}
	v := Verdict{Missing: in.Missing}
	if in.Score != nil {
		v.Score = min(1, max(0, *in.Score))
	}
	v.Complete = v.Score >= 1
	if in.Complete != nil {
		v.Complete = *in.Complete
	}
	return v
}

// Question asks, with nothing but the objective and what was said and done.
func Question(objective, transcript string) string {
	return strings.NewReplacer("{{objective}}", objective, "{{transcript}}", transcript).Replace(questionText)
}

// Resume is what the agent is told when its goal goes on.
func Resume() string { return strings.TrimSpace(resumeText) }

// Followup is what the agent is told that has not reached the objective.
func Followup(iteration int, v Verdict) string {
	missing := v.Missing
	if missing == "" {
		missing = "not everything is proved yet."
	}
	return strings.TrimSpace(strings.NewReplacer("{{iteration}}", strconv.Itoa(iteration), "{{missing}}", missing).Replace(followupText))
}
