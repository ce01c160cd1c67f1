package engine_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// shown runs a turn and tells when this text was shown.
func (w *world) shown(text string) (seen <-chan struct{}, over <-chan turn.Result) {
	w.t.Helper()
	c, ctx := w.open(), w.ctx()
	there, result := make(chan struct{}), make(chan turn.Result, 1)
	go func() {
		var all strings.Builder
		res, err := turn.Run(ctx, c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(u turn.Update) {
			if before := all.String(); u.Kind == turn.Text {
				all.WriteString(u.Text)
				if !strings.Contains(before, text) && strings.Contains(all.String(), text) {
					close(there)
				}
			}
		}})
		if err != nil {
			w.t.Errorf("turn: %v", err)
		}
		result <- res
	}()
	return there, result
}

// said are the texts of the conversation, as they are read later.
func (w *world) said() string {
	w.t.Helper()
	items, _, err := turn.Items(w.ctx(), w.backend, w.id, turn.ItemQuery{Details: true, Limit: 20})
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, item := range items {
		all = append(all, item.Text)
	}
	return strings.Join(all, "|")
}

// What a person has seen of an answer is there later, and the model knows of it, too.
func TestWhatWasShownBeforeAStopIsKept(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]llmtest.Reply{
		"text":              {},
		"an answer by call": {Calls: llmtest.Finish("one two three").Calls},
		"behind reasoning":  {Reasoning: "Let me think."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			feed := make(chan string)
			if r.Calls == nil {
				r.Feed = feed
			}
			r.End = llmtest.Hang
			w.llm.Reply(r, llmtest.Text("three"))
			seen, over := w.shown("two")
			if r.Calls == nil {
				feed <- "one "
				feed <- "two "
			}
			<-seen
			if err := w.open().Interrupt(w.ctx()); err != nil {
				t.Fatal(err)
			}
			if res := <-over; res.Outcome != turn.Interrupted || res.Answer != "" {
				t.Errorf("result = %+v, want the outcome %d without an answer", res, turn.Interrupted)
			}
			w.expect("SP U M(ext) I")
			w.close()
			w.start()
			if got := w.said(); !strings.HasPrefix(got, "go|one two") || !strings.HasSuffix(got, "|The run was stopped here.") {
				t.Errorf("read later: %q", got)
			}
			w.say("go on")
			asked := w.llm.Await(t, 2).Messages
			if n := len(asked); n < 3 || asked[n-2].Role != "assistant" || !strings.Contains(asked[n-2].Text, "one two") ||
				!strings.Contains(asked[n-2].Text, "not complete") {
				t.Errorf("the model was asked %+v", asked)
			}
		})
	}
}

// A run that goes on without another message writes its answer from the beginning.
func TestAnUnfinishedAnswerIsWrittenAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	feed := make(chan string)
	w.llm.Reply(llmtest.Reply{Feed: feed, End: llmtest.Hang}, llmtest.Text("one two three"))
	seen, over := w.shown("two")
	feed <- "one two "
	<-seen
	if err := w.open().Interrupt(w.ctx()); err != nil {
		t.Fatal(err)
	}
	<-over
	c, err := w.backend.Control().Open(w.ctx(), w.id)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(w.ctx()); err != nil {
		t.Fatal(err)
	}
	asked := w.llm.Await(t, 2).Messages
	if last := asked[len(asked)-1]; last.Role != "user" {
		t.Errorf("the last message is %+v", last)
	}
}

// A provider that fails in the middle takes nothing away that was shown.
func TestWhatWasShownBeforeAFailureIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withRealModels(func(p *llm.Profile) { p.Stream, p.NumRetries = true, 0 }))
	w.llm.Reply(llmtest.Reply{Text: "one two", End: llmtest.Refuse, Frame: `{"error":{"message":"bad","type":"invalid_request_error","code":"invalid_api_key"}}`}, llmtest.Text("back"))
	if res := w.say("go"); res.Outcome != turn.Failed {
		t.Errorf("result = %+v, want the outcome %d", res, turn.Failed)
	}
	if got := w.said(); !strings.HasPrefix(got, "go|one two|") {
		t.Errorf("read later: %q", got)
	}
	if res := w.say("go on"); res.Answer != "back" {
		t.Errorf("result = %+v, want the answer %q", res, "back")
	}
}
