package judge_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/judge"
)

// A verdict that cannot be read proves nothing: the goal goes on.
func TestAVerdictIsReadOrProvesNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]judge.Verdict{
		`{"score": 1}`: {Score: 1, Complete: true},
		"Well: {\"score\": 0.5, \"missing\": \"tests\"} that is all": {Score: 0.5, Missing: "tests"},
		`{"score": 7, "complete": false}`:                            {Score: 1},
		`{"score": -1, "complete": true}`:                            {Complete: true},
		"done":                                                       {Missing: "The judge gave no verdict that can be read."},
		"}{":                                                         {Missing: "The judge gave no verdict that can be read."},
	} {
		if got := judge.Parse(text); got != want {
			t.Errorf("the verdict of %q: %+v, want %+v", text, got, want)
		}
	}
}

func TestTextsHaveWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"the question":             judge.Question("make OBJECTIVE", "said TRANSCRIPT"),
		"the answer of a judge":    judge.Followup(3, judge.Verdict{Missing: "no TESTS"}),
		"the words at a new start": judge.Resume(),
	} {
		if text == "" || strings.Contains(text, "{{") {
			t.Errorf("%s: text = %q, want a text without an open place", name, text)
		}
	}
	if text := judge.Question("make OBJECTIVE", "said TRANSCRIPT"); !strings.Contains(text, "OBJECTIVE") || !strings.Contains(text, "TRANSCRIPT") {
		t.Errorf("the question: %q, want the objective and the transcript", text)
	}
	if text := judge.Followup(3, judge.Verdict{Missing: "no TESTS"}); !strings.Contains(text, "no TESTS") {
		t.Errorf("the follow-up: %q, want what is missing", text)
	}
}
