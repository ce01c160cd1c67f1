package confirm_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/confirm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// recorded is an action, and what the analyzers of OpenHands 1.58.2 say of it.
type recorded struct {
	Command string  `json:"c"`
	Action  *action `json:"e"`

	Pattern, Rails, Both, Strict string
	// Ours are the analyzers that say something else here, with what they say; Why says why.
	Ours map[string]string `json:"ours"`
	Why  string            `json:"why"`
}

type action struct {
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
	Summary   string          `json:"summary"`
	Reasoning string          `json:"reasoning_content"`
	Thought   []string        `json:"thought"`
}

const (
	patternAnalyzer = `{"kind":"PatternSecurityAnalyzer"}`
	railsAnalyzer   = `{"kind":"PolicyRailSecurityAnalyzer"}`
)

// analyzers are those of the table.
func analyzers() map[string]string {
	const both = `{"kind":"EnsembleSecurityAnalyzer","analyzers":[` + patternAnalyzer + `,` + railsAnalyzer + `]`
	return map[string]string{
		"pattern": patternAnalyzer, "rails": railsAnalyzer, "both": both + `}`, "strict": both + `,"propagate_unknown":true}`,
	}
}

func (r recorded) event(t *testing.T) *event.Action {
	t.Helper()
	in := r.Action
	if in == nil {
		in = &action{}
	}
	if in.ToolName == "" {
		in.ToolName = "terminal"
	}
	arguments := string(in.Arguments)
	if in.Arguments == nil {
		data, err := json.Marshal(map[string]any{"command": r.Command})
		if err != nil {
			t.Fatal(err)
		}
		arguments = string(data)
	} else if text := ""; json.Unmarshal(in.Arguments, &text) == nil {
		arguments = text
	}
	a := &event.Action{
		ToolName: in.ToolName, ToolCall: event.ToolCall{Name: in.ToolName, Arguments: arguments},
		Summary: in.Summary, ReasoningContent: in.Reasoning,
	}
	for _, text := range in.Thought {
		a.Thought = append(a.Thought, event.Text(text))
	}
	return a
}

func table(t *testing.T) (list []recorded, lines []string) {
	t.Helper()
	data, err := os.ReadFile("testdata/risks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(strings.NewReader(string(data)))
	in.Buffer(nil, len(data)+1)
	for in.Scan() {
		var r recorded
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", in.Text(), err)
		}
		list, lines = append(list, r), append(lines, in.Text())
	}
	if len(list) < 580 {
		t.Fatalf("the table has only %d lines", len(list))
	}
	return list, lines
}

// riskOf is the risk of an action, as the log says it.
func riskOf(t *testing.T, analyzer string, a *event.Action) string {
	t.Helper()
	found := confirm.Analysis(json.RawMessage(`{"kind":"AlwaysConfirm"}`), json.RawMessage(analyzer), []event.Event{{ID: "a", Body: a}, {ID: "b", Body: a}})
	if found == nil || len(found.Details) > 0 {
		t.Fatalf("%s: Analysis = %+v", analyzer, found)
	}
	return found.Risks["a"]
}

// The analyzers say what those of OpenHands say, but for what the table gives a reason for.
func TestTheAnalyzersSayTheSameAsOpenHands(t *testing.T) {
	t.Parallel()
	list, lines := table(t)
	for i, r := range list {
		theirs := map[string]string{"pattern": r.Pattern, "rails": r.Rails, "both": r.Both, "strict": r.Strict}
		for name, analyzer := range analyzers() {
			want := theirs[name]
			if ours, ok := r.Ours[name]; ok {
				if want = ours; r.Why == "" {
					t.Errorf("there is no reason in %s", lines[i])
				}
			}
			if got := riskOf(t, analyzer, r.event(t)); got != want {
				t.Errorf("%s: risk = %s, want %s of %.200s", name, got, want, lines[i])
			}
		}
	}
}
