package backendtest

import (
	"slices"
	"strconv"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

func histories() []behaviour {
	return []behaviour{
		{name: "HistoryIsWhatWasSaid", check: checkHistory},
		{name: "HistoryIsReadInPages", check: checkHistoryPages},
		{name: "LogIsReadInPages", check: checkLogPages},
		{name: "HistoryHasReasoning", has: hasDeltas, check: func(t *testing.T, s *Setup) {
			reply := llmtest.Text("It is 4711.")
			reply.Reasoning = "I should look."
			s.LLM.Reply(reply)
			c := s.open(t)
			say(t, c, "What is it?")
			want := []string{"user: What is it?", "thought: I should look.", "answer: It is 4711."}
			if got := history(t, s, c.Info().ID, turn.ItemQuery{}); !slices.Equal(got, want) {
				t.Errorf("history = %q", got)
			}
		}},
		{name: "HistoryOfARun", has: hasDeltas, check: checkHistoryOfARun},
		{name: "HistoryOfNothing", check: func(t *testing.T, s *Setup) {
			c := s.open(t)
			if got := history(t, s, c.Info().ID, turn.ItemQuery{Details: true}); len(got) != 0 {
				t.Errorf("items of a new conversation: %q", got)
			}
		}},
		{name: "HistoryOfAnUnknownConversation", check: func(t *testing.T, s *Setup) {
			ctx, id := within(t, patience), uuid.New()
			_, err := s.Backend.Events(ctx, id, agentapi.EventQuery{})
			wantKind(t, err, agentapi.ErrConversationNotFound)
			_, err = s.Backend.About(ctx, id)
			wantKind(t, err, agentapi.ErrConversationNotFound)
		}},
		{name: "HistoryFromAnUnknownEvent", check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"))
			c := s.open(t)
			say(t, c, "first")
			_, err := s.Backend.Events(within(t, patience), c.Info().ID, agentapi.EventQuery{From: uuid.New()})
			wantKind(t, err, agentapi.ErrRefused)
			if !agentapi.IsUnknownEvent(err) {
				t.Errorf("the error %v is not about an unknown event", err)
			}
		}},
		{name: "AboutAConversation", check: func(t *testing.T, s *Setup) {
			c := s.open(t)
			about, err := s.Backend.About(within(t, patience), c.Info().ID)
			if err != nil || about.ID != c.Info().ID || about.Created.IsZero() || about.Profile != s.Profile && c.Info().SystemKnown {
				t.Errorf("About() = %+v, %v", about, err)
			}
		}},
	}
}

// history is the items of a conversation in a line each.
func history(t *testing.T, s *Setup, id string, q turn.ItemQuery) (lines []string) {
	t.Helper()
	q.Limit = 1000
	items, more, err := turn.Items(within(t, patience), s.Backend, id, q)
	if err != nil || more {
		t.Fatalf("Items() has more: %v, %v", more, err)
	}
	for _, item := range items {
		lines = append(lines, itemLine(item))
	}
	return lines
}

func itemLine(item turn.Item) string {
	switch item.Kind {
	case turn.ItemUser:
		return "user: " + item.Text
	case turn.ItemSaid:
		return "said: " + item.Text
	case turn.ItemCall:
		return string(item.Call.State) + ": " + item.Call.Line
	case turn.ItemFailure:
		return "failed"
	case turn.ItemReasoning:
		return "thought: " + item.Text
	case turn.ItemAnswer:
	}
	return "answer: " + item.Text
}

// talk is a conversation of two turns, with an action in the first.
func (s *Setup) talk(t *testing.T) (id string, items []string) {
	t.Helper()
	look := llmtest.Tool("terminal", `{"command":"echo 4711"}`)
	look.Text = "Let me look."
	s.LLM.Reply(look, llmtest.Text("It is 4711."), llmtest.Text("You are welcome."))
	c := s.open(t)
	say(t, c, "What is it?")
	say(t, c, "Thank you.")
	return c.Info().ID, []string{
		"user: What is it?", "said: Let me look.", "done: $ echo 4711", "answer: It is 4711.", "user: Thank you.", "answer: You are welcome.",
	}
}

func checkHistory(t *testing.T, s *Setup) {
	id, want := s.talk(t)
	if got := history(t, s, id, turn.ItemQuery{Details: true}); !slices.Equal(got, want) {
		t.Errorf("from the first: %q", got)
	}
	slices.Reverse(want)
	if got := history(t, s, id, turn.ItemQuery{Details: true, Newest: true}); !slices.Equal(got, want) {
		t.Errorf("from the newest: %q", got)
	}
	want = slices.DeleteFunc(want, func(line string) bool { return line == "done: $ echo 4711" })
	if got := history(t, s, id, turn.ItemQuery{Newest: true}); !slices.Equal(got, want) {
		t.Errorf("without details: %q", got)
	}
}

func checkHistoryPages(t *testing.T, s *Setup) {
	id, want := s.talk(t)
	for _, newest := range []bool{false, true} {
		for limit := 1; limit <= 3; limit++ {
			t.Run(strconv.FormatBool(newest)+strconv.Itoa(limit), func(t *testing.T) {
				var got []string
				q := turn.ItemQuery{Details: true, Newest: newest, Limit: limit}
				for more := true; more; {
					var items []turn.Item
					var err error
					if items, more, err = turn.Items(within(t, patience), s.Backend, id, q); err != nil || len(items) > limit {
						t.Fatalf("%d items, %v", len(items), err)
					}
					for _, item := range items {
						got = append(got, itemLine(item))
						q.After = item.ItemRef
					}
				}
				if newest {
					slices.Reverse(got)
				}
				if !slices.Equal(got, want) {
					t.Errorf("history = %q", got)
				}
			})
		}
	}
}

// checkLogPages reads the log itself, an event at a time and both ways.
func checkLogPages(t *testing.T, s *Setup) {
	id, _ := s.talk(t)
	all := 0
	for _, newest := range []bool{false, true} {
		q, ids := agentapi.EventQuery{Limit: 1, Newest: newest}, map[string]bool{}
		for more := true; more; more = q.From != "" {
			page, err := s.Backend.Events(within(t, patience), id, q)
			if err != nil || len(page.Events) != 1 || ids[page.Events[0].ID] {
				t.Fatalf("Events(%+v) = %+v, %v", q, page, err)
			}
			ids[page.Events[0].ID] = true
			q.From = page.Next
		}
		if all += len(ids); newest && all != 2*len(ids) {
			t.Errorf("%d events backwards of %d both ways", len(ids), all)
		}
	}
}

// checkHistoryOfARun reads a conversation while its agent is at work.
func checkHistoryOfARun(t *testing.T, s *Setup) {
	text, reply := gate()
	s.LLM.Reply(llmtest.Text("one"), reply)
	c := s.open(t)
	say(t, c, "first")
	stream := watch(t, c, "")
	next(t, stream) // from the first event on the stream misses nothing
	over := begin(t, c, turn.Input{Message: agentapi.Message{Text: "second"}})
	feed(t, text, "on its way")
	until(t, stream, func(e event.Event) bool { _, delta := e.Body.(*event.Delta); return delta })
	want := []string{"user: first", "answer: one", "user: second"}
	if got := history(t, s, c.Info().ID, turn.ItemQuery{Details: true}); !slices.Equal(got, want) {
		t.Errorf("during the run: %q", got)
	}
	close(text)
	if p := await(t, "end", over); p.err != nil || p.Answer != "on its way" {
		t.Errorf("the run ended with %+v", p)
	}
}
