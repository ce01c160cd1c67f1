package session_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/transcript"
)

// archive is the earlier messages of a gateway, by conversation.
type archive struct {
	items   map[string][]gateway.Item
	more    bool
	err     error
	deleted []string
	loaded  gateway.Extensions

	condensed  gateway.Condensed
	condensing int
}

func unknown() error {
	return &gateway.Error{Kind: gateway.Refused, Status: 404, Code: "conversation_not_found", Message: "There is none."}
}

func (a *archive) Condense(context.Context, string) (gateway.Condensed, error) {
	a.condensing++
	return a.condensed, a.err
}

func (a *archive) Earlier(_ context.Context, id string, _ int) ([]gateway.Item, bool, error) {
	items, ok := a.items[id]
	switch {
	case a.err != nil:
		return nil, false, a.err
	case !ok:
		return nil, false, unknown()
	}
	return items, a.more, nil
}

func (a *archive) Extensions(_ context.Context, id string) (gateway.Extensions, error) {
	if _, ok := a.items[id]; !ok {
		return gateway.Extensions{}, unknown()
	}
	return a.loaded, a.err
}

func (a *archive) Delete(_ context.Context, id string) error {
	if _, ok := a.items[id]; !ok {
		return unknown()
	}
	a.deleted = append(a.deleted, id)
	return a.err
}

// old is an archive with a conversation "c9" of two turns.
func old() *archive {
	return &archive{items: map[string][]gateway.Item{"c9": {
		{Kind: gateway.Asked, Text: "what is \x1b[31mit", Images: 2},
		{Kind: gateway.Said, Text: "Let me look."},
		{Kind: gateway.Did, Call: &gateway.Call{ID: "a1", State: "failed", Kind: "command", Line: "$ ls"}},
		{Kind: gateway.Answered, Text: "It is 4711."},
		{Kind: gateway.Asked, Text: "and now"},
		{Kind: gateway.Broke, Text: "the provider refused the key"},
	}}}
}

// shown is the log in a line for each message.
func (c *chat) shown() (lines []string) {
	for _, m := range c.Log.Messages() {
		switch m := m.(type) {
		case *transcript.Note:
			lines = append(lines, "note: "+m.Text())
		case *transcript.Question:
			lines = append(lines, "you: "+m.Text())
		case *transcript.Answer:
			line := "answer: " + m.Answer()
			if m.FailedActions() > 0 {
				line += " (an action failed)"
			}
			if m.Failed() {
				line += " (failed)"
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func TestAResumedConversationShowsWhatWasSaid(t *testing.T) {
	t.Parallel()
	want := []string{
		"note: Resumed “what is it” (c9).", "you: what is it", "answer: It is 4711. (an action failed)", "you: and now", "answer:  (failed)",
	}
	for name, tc := range map[string]struct {
		start string
		do    func(c *chat)
	}{
		"by its id":    {"", func(c *chat) { c.do(c.Resume("c9")) }},
		"from a list":  {"", func(c *chat) { c.do(c.Continue(session.Conversation{ID: "c9"})) }},
		"at the start": {"c9", func(*chat) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{pieces: []gateway.Piece{gateway.Started{}, done()}}
			talk(t, s, func(cfg *session.Config) { cfg.History, cfg.Start.Conversation = old(), tc.start }, func(c *chat) {
				tc.do(c)
				if diff := cmp.Diff(want, c.shown()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				c.view.has(t, "recalled")
				c.do(c.Submit("go on", "go on"))
				if q := s.asked[0]; q.Conversation != "c9" {
					t.Errorf("asked in %q", q.Conversation)
				}
			})
		})
	}
}

// A question that is asked at the start waits until the earlier messages stand
// above it.
func TestTheFirstQuestionFollowsTheEarlierMessages(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{gateway.Started{}, gateway.Text("yes"), done()}}
	talk(t, s, func(cfg *session.Config) {
		cfg.History, cfg.Start.Conversation, cfg.Start.Text = old(), "c9", "more?"
	}, func(c *chat) {
		got := c.shown()
		if diff := cmp.Diff([]string{"you: more?", "answer: yes"}, got[len(got)-2:]); diff != "" || len(got) != 7 {
			t.Errorf("shown = %q", got)
		}
	})
}

func TestAnUnknownConversationIsNotResumed(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{gateway.Started{}, gateway.Text("hi"), done()}}
	talk(t, s, func(cfg *session.Config) { cfg.History = old() }, func(c *chat) {
		c.do(c.Submit("go", "go"))
		before := c.Convo.ID
		c.do(c.Resume("nosuch"))
		c.view.has(t, "say there is no conversation nosuch at the gateway; /sessions lists yours")
		if c.Convo.ID != before || c.Log.LastAnswer() == nil {
			t.Errorf("it is in %q", c.Convo.ID)
		}
	})
}

func TestAnUnknownConversationOfTheStartIsSaid(t *testing.T) {
	t.Parallel()
	talk(t, &script{}, func(cfg *session.Config) { cfg.History, cfg.Start.Conversation = old(), "nosuch" }, func(c *chat) {
		want := []string{"note: There is no conversation nosuch at the gateway. The first message starts a new one with this ID."}
		if diff := cmp.Diff(want, c.shown()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAConversationGoesOnWhereItsMessagesCannotBeShown(t *testing.T) {
	t.Parallel()
	a := old()
	a.err = errors.New("no disk")
	talk(t, &script{}, func(cfg *session.Config) { cfg.History = a }, func(c *chat) {
		c.do(c.Resume("c9"))
		want := []string{"note: Resumed conversation c9. Its earlier messages cannot be shown, but the agent knows them: No disk"}
		if diff := cmp.Diff(want, c.shown()); diff != "" || c.Convo.ID != "c9" {
			t.Errorf("shown (-want +got):\n%s\nin the conversation %q", diff, c.Convo.ID)
		}
	})
}

func TestAnActionThatWaitsIsDecidedLater(t *testing.T) {
	t.Parallel()
	a := old()
	a.items["c9"] = append(a.items["c9"], gateway.Item{Kind: gateway.Did, Call: &gateway.Call{ID: "a2", State: "waiting", Line: "$ rm -rf build"}})
	s := &script{pieces: []gateway.Piece{gateway.Started{}, done()}}
	talk(t, s, func(cfg *session.Config) { cfg.History = a }, func(c *chat) {
		c.do(c.Resume("c9"))
		if len(c.Pending) != 1 || c.Pending[0] != "$ rm -rf build" {
			t.Fatalf("waiting: %q", c.Pending)
		}
		c.do(c.Decide(session.Once))
		if q := s.asked[0]; q.Decision != gateway.Accept || q.Conversation != "c9" {
			t.Errorf("asked %+v", q)
		}
	})
}

func TestALongConversationSaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	a := old()
	a.more = true
	talk(t, &script{}, func(cfg *session.Config) { cfg.History = a }, func(c *chat) {
		c.do(c.Resume("c9"))
		want := "note: Resumed conversation c9. The 6 latest messages and actions are shown; the agent knows all of them."
		if got := c.shown(); got[0] != want {
			t.Errorf("shown = %q", got[0])
		}
	})
}

func TestAConversationIsDeletedThereAndHere(t *testing.T) {
	t.Parallel()
	a, kept := old(), &shelf{list: []session.Conversation{{ID: "c9"}, {ID: "c8"}, {ID: "gone"}}}
	talk(t, &script{}, func(cfg *session.Config) { cfg.History, cfg.Recent = a, kept }, func(c *chat) {
		c.do(c.Resume("c9"))
		c.do(c.Kept.Remove(session.Conversation{ID: "c9", Title: "old"}))
		c.view.has(t, "say deleted old")
		if c.Convo.ID == "c9" || len(a.deleted) != 1 {
			t.Errorf("it is in %q, deleted %v", c.Convo.ID, a.deleted)
		}
		c.do(c.Kept.Remove(session.Conversation{ID: "gone"})) // the gateway does not have it any more
		if len(kept.list) != 1 || kept.list[0].ID != "c8" {
			t.Errorf("listed: %v", kept.list)
		}
		a.err = errors.New("no rights")
		a.items["c8"] = nil
		c.do(c.Kept.Remove(kept.list[0]))
		if len(kept.list) != 1 {
			t.Error("it is out of the list, and still there")
		}
		c.view.has(t, "note The conversation was not deleted: No rights true")
	})
}

func TestAConversationIsRenamed(t *testing.T) {
	t.Parallel()
	kept := &shelf{list: []session.Conversation{{ID: "c9", Title: "old"}}}
	talk(t, &script{}, func(cfg *session.Config) { cfg.Recent = kept }, func(c *chat) {
		c.do(c.Rename(kept.list[0], " new\nname "))
		if kept.list[0].Title != "new name" {
			t.Errorf("title = %q", kept.list[0].Title)
		}
		c.do(c.Rename(kept.list[0], " "))
		c.view.has(t, "say not renamed: the title is empty")
	})
}
