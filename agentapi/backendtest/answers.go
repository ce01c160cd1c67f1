package backendtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func answers() []behaviour {
	return []behaviour{
		{name: "FirstText", check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("Hello, world! Ünï 🚀\nsecond line"))
			p := say(t, s.open(t), "hello")
			want := played{Result: turn.Result{
				Answer: "Hello, world! Ünï 🚀\nsecond line",
				Usage:  turn.Usage{PromptTokens: 100, CompletionTokens: 10},
			}}
			if diff := cmp.Diff(want.Result, p.Result, varying()); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if p.text() != want.Answer {
				t.Errorf("live text is %q", p.text())
			}
			if got := s.LLM.Await(t, 1).UserText(); !strings.Contains(got, "hello") {
				t.Errorf("the model was asked %q", got)
			}
		}},
		{name: "TextComesWhileItIsWritten", has: hasDeltas, check: checkLive},
		{name: "ToolThenFinish", check: checkTool},
		{name: "ThoughtAndAnswerAreParagraphs", check: func(t *testing.T, s *Setup) {
			thought := llmtest.Tool("terminal", `{"command":"echo hi"}`)
			thought.Text = "Let me look."
			s.LLM.Reply(thought, llmtest.Text("It says hi."))
			p := say(t, s.open(t), "look")
			if want := "Let me look.\n\nIt says hi."; p.text() != want || p.Answer != "It says hi." {
				t.Errorf("live text %q, answer %q", p.text(), p.Answer)
			}
		}},
		{name: "ParallelCallsAreAllDone", check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Reply{Calls: []llmtest.Call{
				{Name: "terminal", Args: `{"command":"echo one"}`}, {Name: "terminal", Args: `{"command":"echo two"}`},
			}}, llmtest.Finish("both"))
			p := say(t, s.open(t), "go")
			if p.Actions != 2 || p.progress() != "$ echo one\n$ echo two" || p.Answer != "both" {
				t.Errorf("%d actions, progress %q, answer %q", p.Actions, p.progress(), p.Answer)
			}
		}},
		{name: "BadCallDoesNotEndTheRun", check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Tool("terminal", `{"command":`), llmtest.Tool("no_such_tool", `{}`), llmtest.Finish("recovered"))
			p := say(t, s.open(t), "go")
			if p.Outcome != turn.Finished || p.Answer != "recovered" {
				t.Errorf("result %+v", p.Result)
			}
		}},
		{name: "SecondTurnKnowsTheFirst", check: checkTwoTurns},
		{name: "UsageIsThatOfTheTurn", check: checkUsage},
		{name: "EmptyAnswerIsNotThatOfTheTurnBefore", check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("first answer"), llmtest.Fail(400, "no"))
			c := s.open(t)
			say(t, c, "one")
			if p := say(t, c, "two"); p.Answer != "" || p.text() != "" {
				t.Errorf("the answer is %q, the live text %q", p.Answer, p.text())
			}
		}},
		{name: "ModelErrorIsTheCause", check: checkModelErrors},
		{name: "ConversationGoesOnAfterAnError", check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Fail(400, "not like this"), llmtest.Text("better"))
			c := s.open(t)
			if p := say(t, c, "try"); p.Outcome != turn.Failed || p.Cause == nil {
				t.Errorf("result of the first turn: %+v", p.Result)
			}
			if p := say(t, c, "again"); p.Outcome != turn.Finished || p.Answer != "better" || p.Cause != nil {
				t.Errorf("result of the second turn: %+v", p.Result)
			}
		}},
		{name: "ImagesReachTheModel", has: func(f Features) bool { return !f.Blind }, check: func(t *testing.T, s *Setup) {
			const image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
			s.LLM.Reply(llmtest.Text("a dot"))
			play(t, s.open(t), turn.Input{Message: agentapi.Message{Text: "what is it?", Images: []string{image}}})
			var images []string
			for _, m := range s.LLM.Await(t, 1).Messages {
				images = append(images, m.Images...)
			}
			if diff := cmp.Diff([]string{image}, images); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
		}},
	}
}

func checkLive(t *testing.T, s *Setup) {
	hold, reply := gate()
	s.LLM.Reply(reply)
	updates := make(chan turn.Update, 16)
	over := begin(t, s.open(t), turn.Input{
		Message: agentapi.Message{Text: "count"}, Emit: func(u turn.Update) { updates <- u },
	})
	for _, piece := range []string{"one ", "two ", "three"} {
		feed(t, hold, piece)
		if got := await(t, "update", updates); got != (turn.Update{Kind: turn.Text, Text: piece}) {
			t.Errorf("update %+v, want the text %q", got, piece)
		}
	}
	close(hold)
	if p := await(t, "end", over); p.err != nil || p.Answer != "one two three" || p.text() != p.Answer {
		t.Errorf("turn %+v", p)
	}
}

func checkTool(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Tool("terminal", `{"command":"echo 4711"}`), llmtest.Finish("The number is 4711."))
	p := say(t, s.open(t), "run it")
	want := turn.Result{
		Answer: "The number is 4711.", Actions: 1,
		Usage: turn.Usage{PromptTokens: 200, CompletionTokens: 20},
	}
	if diff := cmp.Diff(want, p.Result, varying()); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if p.progress() != "$ echo 4711" || p.text() != want.Answer {
		t.Errorf("progress %q, live text %q", p.progress(), p.text())
	}
	if last := s.LLM.Await(t, 2).Last(); last.Role != "tool" || !strings.Contains(last.Text, "4711") {
		t.Errorf("the model was told %+v", last)
	}
}

func checkTwoTurns(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("I am one."), llmtest.Finish("I am two."))
	c := s.open(t)
	say(t, c, "first question")
	p := say(t, s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), "second question")
	if p.Answer != "I am two." || p.text() != "I am two." {
		t.Errorf("answer %q, live text %q", p.Answer, p.text())
	}
	var told strings.Builder
	for _, m := range s.LLM.Await(t, 2).Messages {
		told.WriteString(m.Text + "\n")
	}
	for _, want := range []string{"first question", "I am one.", "second question"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("the model was not told %q", want)
		}
	}
}

func checkUsage(t *testing.T, s *Setup) {
	use := func(r llmtest.Reply, u llmtest.Usage) llmtest.Reply { r.Usage = &u; return r }
	s.LLM.Reply(
		use(llmtest.Text("one"), llmtest.Usage{Prompt: 1000, Completion: 11, Cached: 500, Reasoning: 3}),
		use(llmtest.Tool("terminal", `{"command":"echo hi"}`), llmtest.Usage{Prompt: 2000, Completion: 20}),
		use(llmtest.Finish("two"), llmtest.Usage{Prompt: 3000, Completion: 30}),
	)
	c := s.open(t)
	for i, want := range []turn.Usage{
		{PromptTokens: 1000, CompletionTokens: 11, CachedTokens: 500, ReasoningTokens: 3},
		{PromptTokens: 5000, CompletionTokens: 50},
	} {
		if diff := cmp.Diff(want, say(t, c, "go").Usage); diff != "" {
			t.Errorf("usage of turn %d (-want +got):\n%s", i+1, diff)
		}
	}
}

func checkModelErrors(t *testing.T, s *Setup) {
	const providers = "the provider says no"
	key := providers
	if s.has.KeyWords {
		key = "API key"
	}
	for _, tt := range []struct {
		status int
		kind   turn.CauseKind
		detail string
	}{{401, turn.CauseLLM, key}, {400, turn.CauseLLM, providers}} {
		s.LLM.Reply(llmtest.Fail(tt.status, providers))
		p := say(t, s.open(t), "go")
		if p.Outcome != turn.Failed || p.Cause == nil {
			t.Errorf("status %d: result %+v", tt.status, p.Result)
			continue
		}
		if p.Cause.Kind != tt.kind || p.Cause.Code == "" || !strings.Contains(p.Cause.Detail, tt.detail) {
			t.Errorf("status %d: cause %+v", tt.status, p.Cause)
		}
	}
}
