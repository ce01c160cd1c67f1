package llmtest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestScript(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []llmtest.Reply
	}{
		{"no directive", "list the files [1] and [2]", nil},
		{"an unclosed one", "a [[say hi", nil},
		{"one among words", "please [[say Hi there.]] thanks", []llmtest.Reply{{Text: "Hi there."}}},
		{
			"side by side is one reply",
			`[[think hm]] [[say look]] [[tool terminal {"command":"ls"}]][[tool terminal {"command":"id"}]]`,
			[]llmtest.Reply{{Reasoning: "hm", Text: "look", Calls: []llmtest.Call{
				{Name: "terminal", Args: `{"command":"ls"}`}, {Name: "terminal", Args: `{"command":"id"}`},
			}}},
		},
		{
			"then starts the next", "[[empty]] then [[fail 429 slow down]]\nthen\n[[finish a b]]",
			[]llmtest.Reply{{}, llmtest.Fail(429, "slow down"), llmtest.Finish("a b")},
		},
		{
			"only the last run counts", "you said: [[say old]] then [[sya]] and now [[say new]] then [[say newer]] ok",
			[]llmtest.Reply{{Text: "new"}, {Text: "newer"}},
		},
		{"only the last line counts", "[[slow 9 1s]]\n[[say a]] then\n[[say b]]", []llmtest.Reply{{Text: "a"}, {Text: "b"}}},
		{
			"brackets in arguments", `[[tool f {"a":[["]]"]]} ]] then [[say x]]`,
			[]llmtest.Reply{llmtest.Tool("f", `{"a":[["]]"]]}`), {Text: "x"}},
		},
		{
			"malformed arguments", `[[tool f {"a":]] [[tool g]]`,
			[]llmtest.Reply{{Calls: []llmtest.Call{{Name: "f", Args: `{"a":`}, {Name: "g"}}}},
		},
		{
			"numbers and times", "[[slow 2 5ms]] [[wait 1s]] [[usage 7 8]] [[stop length]] then [[pace 2s]] [[usage 1 2 3 4]]",
			[]llmtest.Reply{
				{Text: "word1 word2", Pace: 5 * time.Millisecond, Wait: time.Second, Usage: &llmtest.Usage{Prompt: 7, Completion: 8}, Stop: "length"},
				{Pace: 2 * time.Second, Usage: &llmtest.Usage{Prompt: 1, Completion: 2, Cached: 3, Reasoning: 4}},
			},
		},
		{
			"endings", "[[hang]] then [[cut]] then [[garble]] then [[fail context]]",
			[]llmtest.Reply{{End: llmtest.Hang}, {End: llmtest.Cut}, {End: llmtest.Garble}, llmtest.ContextTooLong()},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := llmtest.Script(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Script(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestScriptNamesTheDirectiveThatIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"[[shout hi]]":     `directive [[shout hi]]: unknown verb "shout"`,
		"[[]]":             `directive [[]]: unknown verb ""`,
		"[[tool]]":         "directive [[tool]]: a tool needs a name",
		"[[slow 2]]":       `directive [[slow 2]]: time: invalid duration ""`,
		"[[slow -1 1s]]":   "directive [[slow -1 1s]]: want a number of words from 1 to 100000",
		"[[wait long]]":    `directive [[wait long]]: time: invalid duration "long"`,
		"[[pace 5]]":       `directive [[pace 5]]: time: missing unit in duration "5"`,
		"[[usage 1]]":      "directive [[usage 1]]: want 2 or 4 numbers",
		"[[usage a b]]":    `directive [[usage a b]]: strconv.Atoi: parsing "a": invalid syntax`,
		"[[fail 200 yes]]": "directive [[fail 200 yes]]: want a status from 400 to 599",
		"[[error gone]]":   "directive [[error gone]]: want a status from 400 to 599",
		"[[html 100]]":     "directive [[html 100]]: want a status from 200 to 599",
		"[[habit bad]]":    `directive [[habit bad]]: there is no habit "bad"`,
		"[[callid x]]":     "directive [[callid x]]: want an id, behind a tool call",
	}
	for text, want := range tests {
		if _, err := llmtest.Script(text); err == nil || err.Error() != want {
			t.Errorf("Script(%q): error %v, want %s", text, err, want)
		}
	}
}

func TestTheConversationFollowsItsScript(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	const script = "[[say one]] then [[say two]]"
	steps := []struct {
		texts []string
		want  string
	}{
		{[]string{script}, "one"},
		{[]string{script, "one", script}, "one"}, // the newest user message counts
		{[]string{script, "one", script, "one"}, "two"},
		{[]string{script, "one", script, "two", "[[say other]]"}, "other"},
		{[]string{script, "one", "plain"}, "You said: plain"},
		{[]string{"[[say a]]", "a"}, "done"},
		{[]string{"[[empty]] then [[say b]]", "", "Please use a tool."}, "b"},
	}
	for _, step := range steps {
		if got := ask(t, llm.URL, question(true, step.texts...)).Text; got != step.want {
			t.Errorf("after %q: answer %q, want %q", step.texts, got, step.want)
		}
	}
}

func TestAFailureIsAStepOfTheScript(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	const script = "[[fail 429 one]] then [[fail 500 two]] then [[say three]]"
	for round := range 2 { // the second time everything starts again
		for _, want := range []string{"rate_limit_exceeded: one", "server_error: two", "three"} {
			if got := ask(t, llm.URL, question(false, script)).Text; got != want {
				t.Errorf("round %d: answer %q, want %q", round, got, want)
			}
		}
	}
	for range 3 {
		if got := ask(t, llm.URL, question(false, "[[fail 401 no]]")).Text; got != "invalid_api_key: no" {
			t.Errorf("answer %q, want the last failure for ever", got)
		}
	}
}

func FuzzScript(f *testing.F) {
	f.Add("[[say hi]] then [[finish x]]")
	f.Add(`[[tool f {"a":[["]]"]]} ]]`)
	f.Add("[[slow 3 1ms]] [[usage 1 2]] then [[fail 429 x]]")
	f.Fuzz(func(t *testing.T, text string) {
		replies, err := llmtest.Script(text)
		if err != nil && replies != nil {
			t.Errorf("Script(%q) = %v and the error %v", text, replies, err)
		}
		// What stands before a script and apart from it changes nothing.
		again, errAgain := llmtest.Script("[[say before]] apart " + text)
		if err == nil && len(replies) > 0 && (errAgain != nil || !cmp.Equal(replies, again)) {
			t.Errorf("Script(%q) = %v, behind other words %v, %v", text, replies, again, errAgain)
		}
	})
}
