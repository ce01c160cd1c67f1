package conversation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

func TestATextEndsTheRun(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "Hello.")}}, nil)
	want(t, w.play("hi"), "SystemPromptEvent", "user says hi", "status running", "agent says Hello.", "status finished")
}

func TestACallIsFollowedByItsResultAndTheNextStep(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "", done("c2"))}}, nil)
	want(t, w.play("go"), "SystemPromptEvent", "user says go", "status running",
		"look is called as c1", "c1 has a result", "finish is called as c2", "c2 has a result", "status finished")
	requests := w.model.requests()
	if len(requests) != 2 {
		t.Fatalf("the model was asked %d times, want 2", len(requests))
	}
	last := requests[1].Messages[len(requests[1].Messages)-1]
	if last.Role != "tool" {
		t.Errorf("the second request ends in a message of %q, want the tool's result", last.Role)
	}
	if last.ToolCallID != "c1" {
		t.Errorf("the result is of the call %q, want c1", last.ToolCallID)
	}
}

// The model would not see the result of a call behind the end of the task.
func TestCallsBehindFinishAreNotMade(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "", done("c1"), look("c2"))}}, nil)
	w.look = func(context.Context) (string, error) {
		t.Error("the tool was called")
		return "", nil
	}
	want(t, w.play("go"), "SystemPromptEvent", "user says go", "status running", "finish is called as c1", "c1 has a result", "status finished")
}

func TestACallThatDoesNotFitIsAnsweredInItsPlace(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{
		answer("r1", "", callOf("c1", "no_such_tool", `{}`)), answer("r2", "", callOf("c2", "look", `{}`)), answer("r3", "Sorry."),
	}}, nil)
	want(t, w.play("go"), "SystemPromptEvent", "user says go", "status running",
		"no_such_tool is called as c1", "c1 has an error", "look is called as c2", "c2 has an error", "agent says Sorry.", "status finished")
}

func TestAToolThatFailsDoesNotEndTheRun(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "Too bad.")}}, nil)
	w.look = func(context.Context) (string, error) { return "", errors.New("it is dark") }
	want(t, w.play("go"), "SystemPromptEvent", "user says go", "status running", "look is called as c1", "c1 has an error", "agent says Too bad.", "status finished")
}

func TestAnEmptyAnswerIsAskedForAgain(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", ""), answer("r2", "Here.")}}, nil)
	events := lines(w.play("go"))
	hints := 0
	for _, line := range events {
		if strings.HasPrefix(line, "environment says Your last answer had neither text nor a tool call") {
			hints++
		}
	}
	if hints != 1 {
		t.Errorf("the agent was told %d times, want once, in %q", hints, events)
	}
	if got := events[len(events)-2]; got != "agent says Here." {
		t.Errorf("the answer is %q", got)
	}
}

func TestAModelThatFailsEndsTheRunWithItsError(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{fails("LLMAuthenticationError"), answer("r1", "Again.")}}, nil)
	want(t, w.play("hi"), "SystemPromptEvent", "user says hi", "status running", "status error", "error LLMAuthenticationError")
	want(t, w.play("once more"), "user says once more", "status running", "agent says Again.", "status finished")
}

// lengthy is a reply that ended at the length limit.
func lengthy(r reply) reply {
	return func(ctx context.Context, onDelta func(llm.Delta)) (llm.Response, error) {
		resp, err := r(ctx, onDelta)
		resp.Length = true
		return resp, err
	}
}

func TestACutAnswerIsMarkedAndNotShownItsMark(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{lengthy(answer("r1", "The full name of")), answer("r2", "France.")}}, nil)
	events := w.play("hi")
	if m := lastMessage(t, events); !m.IsCut() {
		t.Errorf("the answer %q is not marked as cut", lines(events))
	}
	events = w.play("go on")
	if m := lastMessage(t, events); m.IsCut() {
		t.Errorf("the whole answer %q is marked as cut", lines(events))
	}
	for _, m := range w.model.requests()[1].Messages {
		if strings.Contains(event.PlainText(m.Content), "NOTICE") {
			t.Errorf("the model is shown the mark: %q", event.PlainText(m.Content))
		}
	}
}

func TestACutCallDoesNotRunAndIsAskedForAgainOnce(t *testing.T) {
	t.Parallel()
	cut := map[string]reply{
		"a part of a call":          lengthy(answer("r1", "", callOf("c1", "look", `{"at":"i`))),
		"a call that looks whole":   lengthy(answer("r1", "", look("c1"))),
		"a whole call before a cut": lengthy(answer("r1", "", look("c1"), callOf("c2", "look", `{"a`))),
		"nothing at all":            lengthy(answer("r1", "")),
		"a call in the text": lengthy(func(context.Context, func(llm.Delta)) (llm.Response, error) {
			return llm.Response{ID: "r1", Message: event.LLMMessage{Role: "assistant", Content: texts("<function=look>")}}, &llm.Error{Code: llm.CodeCallValidation, Detail: "cut"}
		}),
	}
	for name, first := range cut {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, &model{todo: []reply{first, answer("r2", "Here.")}}, nil)
			w.look = func(context.Context) (string, error) {
				t.Error("the tool was called")
				return "", nil
			}
			events := lines(w.play("go"))
			if len(events) != 6 || !strings.HasPrefix(events[3], "environment says Your last answer reached the length limit") || events[4] != "agent says Here." {
				t.Errorf("events = %q, want 6, among them the one about the length limit and then the answer", events)
			}
			if got := w.status(); got != event.Finished {
				t.Errorf("status %s", got)
			}
		})
		t.Run(name+", twice", func(t *testing.T) {
			t.Parallel()
			w := open(t, &model{todo: []reply{first, first, answer("r3", "Never asked for.")}}, nil)
			w.look = func(context.Context) (string, error) {
				t.Error("the tool was called")
				return "", nil
			}
			events := w.play("go")
			if m := lastMessage(t, events); !m.IsCut() || !strings.Contains(event.PlainText(m.LLMMessage.Content), "twice") {
				t.Errorf("events = %q, want a last message that is cut and says %q", lines(events), "twice")
			}
			if got := len(w.model.requests()); got != 2 {
				t.Errorf("the model was asked %d times, want 2", got)
			}
		})
	}
}

func lastMessage(t *testing.T, events []event.Event) *event.Message {
	t.Helper()
	for _, e := range slices.Backward(events) {
		if m, ok := e.Body.(*event.Message); ok {
			return m
		}
	}
	t.Fatalf("no message in %q", lines(events))
	return nil
}

func texts(s string) []event.Content { return []event.Content{event.Text(s)} }

func TestARunHasSoManySteps(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "", look("c2")), answer("r3", "", look("c3"))}},
		func(_ *conversation.Config, s *store.State) { s.MaxIterations = 2 })
	w.play("go")
	if got := len(w.model.requests()); got != 2 {
		t.Errorf("the model was asked %d times, want 2", got)
	}
	if got := w.status(); got != event.Failed {
		t.Errorf("the conversation is %s, want %s", got, event.Failed)
	}
}

// A request that is too long is made shorter once, and then the step is made.
func TestARequestThatIsTooLongIsSummedUp(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{
		answer("r1", "One."), answer("r2", "Two."),
		fails("LLMContextWindowExceedError"), answer("s1", "They counted."), answer("r3", "Three."),
	}}, func(c *conversation.Config, _ *store.State) {
		c.Condenser = condenser.Settings{MaxSize: 100, KeepFirst: 1}
	})
	w.play("count")
	w.play("go on")
	want(t, w.play("and on"), "user says and on", "status running", "CondensationRequest", "summary They counted.", "agent says Three.", "status finished")
	requests := w.model.requests()
	if got, before := len(requests[4].Messages), len(requests[2].Messages); got >= before {
		t.Errorf("the request after the summary has %d messages, the one before it %d", got, before)
	}
}

func TestWithoutACondenserARequestThatIsTooLongEndsTheRun(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{fails("LLMContextWindowExceedError")}}, nil)
	want(t, w.play("hi"), "SystemPromptEvent", "user says hi", "status running", "status error", "error LLMContextWindowExceedError")
}

// Providers repeat ids; in the log each is there once.
func TestCallsOfTwoAnswersHaveTwoIDsInTheLog(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r", "", look("c")), answer("r", "", look("c")), answer("r", "Done.")}}, nil)
	want(t, w.play("go"), "SystemPromptEvent", "user says go", "status running",
		"look is called as c", "c has a result", "look is called as c_2", "c_2 has a result", "agent says Done.", "status finished")
}

func TestWhatTheModelWritesIsPublishedBeforeItsMessage(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{func(_ context.Context, onDelta func(llm.Delta)) (llm.Response, error) {
		onDelta(llm.Delta{Text: "Hel"})
		onDelta(llm.Delta{Text: "lo."})
		return answer("r1", "Hello.")(context.Background(), nil)
	}}}, nil)
	text := ""
	for _, e := range w.play("hi") {
		switch b := e.Body.(type) {
		case *event.Delta:
			text += *b.Content
		case *event.Message:
			if e.Source == event.SourceAgent && text != "Hello." {
				t.Errorf("before the message came %q", text)
			}
		}
	}
}
