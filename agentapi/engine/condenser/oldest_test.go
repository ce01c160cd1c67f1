package condenser_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Each event weighs 10.
func TestTheOldestWholeTurnsLeave(t *testing.T) {
	t.Parallel()
	v := view.New(nil, nil)
	v.Append(event.New("e0", "", event.SourceAgent, "", &event.SystemPrompt{SystemPrompt: event.Text("system")}))
	for range 3 { // 1 to 4, 5 to 8, 9 to 12
		ask(v, "a question")
		more(v, 1)
		say(v, "an answer")
	}
	ask(v, "the newest") // 13
	for name, tt := range map[string]struct {
		room   int64
		work   int // calls after the question
		gone   []int
		offset int
	}{
		"room for two":           {80, 0, span(1, 5), 1},
		"room for one":           {70, 0, span(1, 9), 1},
		"room for all":           {1000, 0, span(1, 5), 1},
		"no room":                {0, 0, span(1, 13), 1},
		"work on the question":   {10, 2, append(span(1, 13), 14, 15, 16, 17), 2},
		"room for the last call": {20, 2, append(span(1, 13), 14, 15), 2},
	} {
		w := view.New(nil, nil)
		for i := range v.Len() {
			w.Append(v.Event(i))
		}
		more(w, tt.work)
		got, ok := condenser.Oldest(w, tt.room, func(int) int64 { return 10 })
		if diff := cmp.Diff(condenser.Cut{Gone: tt.gone, Offset: tt.offset}, got); diff != "" || !ok {
			t.Errorf("%s: %v (-want +got)\n%s", name, ok, diff)
		}
	}
}

func TestNothingLeavesAQuestionAlone(t *testing.T) {
	t.Parallel()
	v := conversation(0)
	if got, ok := condenser.Oldest(v, 0, func(int) int64 { return 10 }); ok {
		t.Errorf("what leaves: %v", got)
	}
	ask(v, "once more") // the first was never answered
	if got, ok := condenser.Oldest(v, 0, func(int) int64 { return 10 }); !ok || len(got.Gone) != 1 || got.Gone[0] != 1 {
		t.Errorf("what leaves: %v, want the first question", got)
	}
}

func TestASummaryHasNoFlaw(t *testing.T) {
	t.Parallel()
	story := "The user wants a list of cities in order. Rome and Paris were named, Berlin is left."
	for name, tt := range map[string]struct {
		text     string
		replaced int
		flawed   bool
	}{
		"a story":                {story, 1000, false},
		"a story in short lines": {"USER: a list\nDONE: Rome\nDONE: Paris\nPENDING: Berlin", 1000, false},
		"a table":                {"| a | b |\n|---|---|\n| 1 | 2 |\n|---|---|\n| 1 | 3 |\n|---|---|\n|---|---|", 1000, false},
		"short for little":       {story, 20, false},
		"nothing":                {" \n", 1000, true},
		"longer":                 {strings.Repeat(story, 3), 230, true},
		"the same line":          {story + strings.Repeat("\nThe capital of France is Paris.", 4), 1000, true},
		"lines in turn":          {strings.Repeat("Rome is in Italy.\nParis is in France.\n", 5), 1000, true},
		"circles":                {story + strings.Repeat(" and so on and", 9), 1000, true},
		"one letter":             {strings.Repeat("a", 300), 1000, true},
	} {
		if got := condenser.Flaw(tt.text, tt.replaced); (got != "") != tt.flawed {
			t.Errorf("%s: Flaw = %q", name, got)
		}
	}
}
