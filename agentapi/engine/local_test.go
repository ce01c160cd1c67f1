package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llamatest"
)

// onLocal has a local server answer for every profile.
func onLocal(s *llamatest.Server) func(*engine.Config) {
	book := new(window.Book)
	return func(c *engine.Config) {
		c.NewModel = func(_ engine.Profile, usage string) (llm.Model, error) {
			p, err := llm.ParseProfile(fmt.Appendf(nil, `{"model":"openai/%s","base_url":%q,"native_tool_calling":true}`, llamatest.Model, s.URL))
			if err != nil {
				return nil, err
			}
			return llm.New(llm.Config{Profile: p, UsageID: usage, Windows: book})
		}
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(`{"condenser":{"max_size":240,"keep_first":2}}`)})
	}
}

// condensations are those of the log.
func (w *world) condensations() (list []*event.Condensation) {
	for _, e := range w.log() {
		if c, ok := e.Body.(*event.Condensation); ok {
			list = append(list, c)
		}
	}
	return list
}

func TestAConversationOfAnyLengthGoesOnInASmallContext(t *testing.T) {
	t.Parallel()
	same := strings.Repeat("The capital of France is Paris.\n", 40)
	for name, tt := range map[string]struct {
		summary string
		used    bool
	}{
		"a summary that helps":          {"The user asks about places. Paris was named.", true},
		"none":                          {"", false},
		"one that is longer":            {strings.Repeat("Nobody knows what the user said about it then, or why. ", 300), false},
		"one that repeats itself":       {same, false},
		"one that ends in circles":      {"The user asks. " + strings.Repeat("and then the user asks about it ", 20), false},
		"one that is a part of a story": {"The user wants facts about cities of Europe, one after the other.", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := llamatest.New(t, 4096, func(r llamatest.Request) string {
				if r.Summary() {
					return tt.summary
				}
				return "You said: " + r.Last()[max(0, len(r.Last())-200):]
			})
			w := newWorld(t, onLocal(s))
			for i := range 40 {
				res := w.say(fmt.Sprintf("Question %d about a city. %s", i, strings.Repeat("It is large and old. ", i%20)))
				if res.Outcome != turn.Finished || !strings.Contains(res.Answer, "It is large and old. "[:min(1, i%20)]) {
					t.Fatalf("message %d: %+v", i, res)
				}
			}
			for i, r := range s.Asked() {
				if r.Refused {
					t.Errorf("request %d of %d tokens was refused", i, r.Prompt)
				}
				if r.Summary() && (r.Limit == 0 || r.Prompt+r.Limit > 4096) {
					t.Errorf("the summary of request %d may have %d tokens behind %d", i, r.Limit, r.Prompt)
				}
			}
			list := w.condensations()
			if len(list) < 2 {
				t.Errorf("%d condensations", len(list))
			}
			for _, c := range list {
				if c.Summary == nil || (*c.Summary == condenser.LeftOut) == tt.used || c.SummaryOffset == nil || c.LLMResponseID == "" {
					t.Errorf("condensation %+v", c)
				}
			}
		})
	}
}

func TestAMessageThatAloneIsTooLongIsRefusedBeforeItIsStored(t *testing.T) {
	t.Parallel()
	s := llamatest.New(t, 4096, func(llamatest.Request) string { return "Yes." })
	w := newWorld(t, onLocal(s))
	w.say("hello")
	events := len(w.log())
	err := w.open().Send(w.ctx(), agentapi.Message{Text: strings.Repeat("word ", 4096)})
	var tokens, size int
	if isTooLong(err) {
		_, _ = fmt.Sscanf(err.Error(), "The message is too long: with the agent's instructions it has about %d tokens, and the model's context has %d.", &tokens, &size)
	}
	if tokens < 4096*5/3 || size != 4096 {
		t.Errorf("error %v, want its numbers", err)
	}
	if got := len(w.log()); got != events {
		t.Errorf("the log has %d events, had %d", got, events)
	}
	if res := w.say("and now?"); res.Answer != "Yes." {
		t.Errorf("the next message: %+v", res)
	}
	for _, r := range s.Asked() {
		if r.Refused {
			t.Errorf("a request of %d tokens was sent", r.Prompt)
		}
	}
}

func isTooLong(err error) bool {
	return errors.Is(err, agentapi.ErrTooLong)
}

// A server with an unknown context refuses once.
func TestTheFirstRefusalTeachesTheContext(t *testing.T) {
	t.Parallel()
	s := llamatest.New(t, 4096, func(llamatest.Request) string { return strings.Repeat("It is so. ", 60) })
	s.Silent()
	w := newWorld(t, onLocal(s))
	for i := range 30 {
		if res := w.say(fmt.Sprintf("Question %d. %s", i, strings.Repeat("Tell me more. ", 30))); res.Outcome != turn.Finished {
			t.Fatalf("message %d: %+v", i, res)
		}
	}
	refused := 0
	for _, r := range s.Asked() {
		if r.Refused {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%d requests were refused, want 1", refused)
	}
}

// An answer that ends at the context's last token is cut.
func TestAnAnswerThatFillsTheContextIsCut(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 4096 {
		fmt.Fprintf(&long, "word %d ", i) // no repetition, which would be stopped
	}
	s := llamatest.New(t, 4096, func(llamatest.Request) string { return long.String() })
	w := newWorld(t, onLocal(s))
	for range 3 {
		if res := w.say("go on"); res.Outcome != turn.Finished || !res.Cut {
			t.Errorf("outcome %v, cut %v", res.Outcome, res.Cut)
		}
	}
	for _, r := range s.Asked() {
		if r.Refused {
			t.Errorf("a request of %d tokens was refused", r.Prompt)
		}
	}
}
