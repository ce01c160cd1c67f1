package conversation

import (
	"encoding/json"
	"strconv"
	"strings"
)

// verdict is what a judge says of a goal.
type verdict struct {
	Score    float64 `json:"score"` // how sure it is that all is done, from 0 to 1
	Complete bool    `json:"complete"`
	Missing  string  `json:"missing"`
}

// parseVerdict reads a judge's answer. One that cannot be read says that nothing
// is proved: it is better to go on than to end too early.
func parseVerdict(text string) verdict {
	var in struct {
		Score    *float64 `json:"score"`
		Complete *bool    `json:"complete"`
		Missing  string   `json:"missing"`
	}
	from, to := strings.Index(text, "{"), strings.LastIndex(text, "}")
	if from < 0 || to < from || json.Unmarshal([]byte(text[from:to+1]), &in) != nil {
		return verdict{Missing: "The judge gave no verdict that can be read."}
	}
	v := verdict{Missing: in.Missing}
	if in.Score != nil {
		v.Score = min(1, max(0, *in.Score))
	}
	v.Complete = v.Score >= 1
	if in.Complete != nil {
		v.Complete = *in.Complete
	}
	return v
}

func followup(iteration int, v verdict) string {
	missing := v.Missing
	if missing == "" {
		missing = "not everything is proved yet."
	}
	return strings.TrimSpace(strings.NewReplacer("{{iteration}}", strconv.Itoa(iteration), "{{missing}}", missing).Replace(followupText))
}
