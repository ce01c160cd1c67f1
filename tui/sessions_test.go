package tui

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/gateway"
)

func TestConversationsAreRenamedAndDeletedInTheList(t *testing.T) {
	talk(t, &script{}, nil, func(c *chat) {
		c.press("ctrl+r", "ctrl+e")
		c.sees("New title: Fix the flaky retry test")
		c.press("ctrl+u", "Retry", " ", "later", "enter")
		c.sees("Retry later", "renamed to Retry later")
		if want := "3f2a9c11-x: Retry later"; len(c.renamed) != 1 || c.renamed[0] != want {
			t.Errorf("renamed %q", c.renamed)
		}
		c.press("down", "ctrl+d")
		c.sees("Delete “Write the release notes” and its files? y confirms")
		c.press("n")
		c.sees("Write the release notes", "Ctrl+D deletes")
		if len(c.forgotten) != 0 {
			t.Errorf("deleted without a confirmation: %q", c.forgotten)
		}
		c.press("ctrl+d", "y")
		c.sees("deleted Write the release notes", "Retry later")
		if len(c.forgotten) != 1 || c.forgotten[0] != "77aa77aa-x" {
			t.Errorf("deleted %q", c.forgotten)
		}
		c.press("esc")
		c.misses("Conversations")
	})
}

func TestSessionsAreNarrowedByTheCommand(t *testing.T) {
	talk(t, &script{answer: says(gateway.Started{}, finished())}, nil, func(c *chat) {
		c.press("/sessions", " ", "notes", "enter")
		c.sees("Conversations  notes", "Write the release notes")
		c.misses("Fix the flaky")
		c.press("enter")
		c.sees("Resumed “Write the release notes” (77aa77aa-x)")
	})
}

func TestAConversationIsResumedByTheBeginningOfItsID(t *testing.T) {
	talk(t, &script{}, nil, func(c *chat) {
		c.press("/resume", " ", "3F2A", "enter")
		c.sees("Resumed “Fix the flaky retry test” (3f2a9c11-x)")
	})
}

func TestTheCurrentConversationIsRenamedAndDeleted(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, gateway.Text("hello"), finished())}
	talk(t, s, nil, func(c *chat) {
		c.ask("one")
		id := s.asked[0].Conversation
		c.press("/rename", " ", "first", "enter")
		if len(c.renamed) != 1 || c.renamed[0] != id+": first" {
			t.Errorf("renamed %q", c.renamed)
		}
		c.press("/delete", "enter")
		c.sees("/delete yes deletes this conversation and its files")
		c.press("/delete", " ", "yes", "enter")
		c.sees("New conversation.")
		c.misses("hello")
		if len(c.forgotten) != 1 || c.forgotten[0] != id {
			t.Errorf("deleted %q, want %s", c.forgotten, id)
		}
	})
}

// The key for code goes back through all answers.
func TestCodeOfEarlierAnswersIsCopied(t *testing.T) {
	n := 0
	s := &script{}
	talk(t, s, nil, func(c *chat) {
		for _, answer := range []string{"```\nfirst\n```\n", "no code", "```\nthird\n```\n"} {
			s.answer = says(gateway.Started{}, gateway.Text(answer), finished())
			n++
			c.ask("ask " + strings.Repeat("x", n))
		}
		c.press("alt+y")
		if got := c.copied[len(c.copied)-1]; got != "third\n" && got != "third" {
			t.Fatalf("copied %q", got)
		}
		c.press("alt+y")
		c.sees("Blocks of code", "first", "an earlier answer")
		c.press("enter")
		if got := c.copied[len(c.copied)-1]; got != "first\n" && got != "first" {
			t.Errorf("copied %q", got)
		}
	})
}

// shelf is the conversations of a plain chat, and what was said in one of them.
type shelf struct{ list []Conversation }

func (s *shelf) List(context.Context) ([]Conversation, error) { return s.list, nil }
func (s *shelf) Remember(context.Context, Conversation) error { return nil }
func (s *shelf) Rename(_ context.Context, _, title string) error {
	s.list[0].Title = title
	return nil
}

func (s *shelf) Forget(_ context.Context, id string) error {
	s.list = slices.DeleteFunc(s.list, func(c Conversation) bool { return c.ID == id })
	return nil
}

func (s *shelf) Condense(context.Context, string) (gateway.Condensed, error) {
	return gateway.Condensed{Done: true, Before: 5203, After: 1040}, nil
}

func (s *shelf) Earlier(_ context.Context, id string, _ int) ([]gateway.Item, bool, error) {
	if id != "3f2a9c11-x" {
		return nil, false, &gateway.Error{Kind: gateway.Refused, Code: "conversation_not_found", Message: "There is none."}
	}
	return []gateway.Item{
		{Kind: gateway.Asked, Text: "Fix the test"},
		{Kind: gateway.Did, Call: &gateway.Call{ID: "a", State: "done", Line: "$ go test", Refused: []gateway.Block{
			{Access: "net", Target: "example.com:443", Why: "not on the allow list"}, {Access: "write", Target: "/etc/\x1b[2Jhosts", Why: "read-only"},
		}}},
		{Kind: gateway.Did, Call: &gateway.Call{ID: "b", State: "done", Line: "$ ls", Refused: []gateway.Block{{Access: "read", Target: "/root", Why: "hidden"}}}},
		{Kind: gateway.Answered, Text: "Fixed."},
	}, false, nil
}

func (s *shelf) Extensions(context.Context, string) (gateway.Extensions, error) {
	return gateway.Extensions{}, nil
}

func (s *shelf) Delete(context.Context, string) error { return nil }

func TestCondenseOnTheScreenAndOnPaper(t *testing.T) {
	const said = "The earlier conversation was summarized; context about 5.2k → 1.0k tokens."
	s := &script{answer: says(gateway.Started{}, gateway.Text("Fixed."), finished())}
	talk(t, s, func(cfg *Config) { cfg.History = &shelf{} }, func(c *chat) {
		c.ask("go")
		c.press("/condense", "enter")
		c.sees(said)
	})
	got := onPaper(t, s, func(cfg *Config) { cfg.History = &shelf{} }, "go", "/condense", "again")
	counts(t, got, map[string]int{said + "\n": 1, "> Fixed.\n": 2, "Summarizing the earlier conversation.\n": 1})
}

func TestPlainConversationsAreListedAndShown(t *testing.T) {
	t.Parallel()
	kept := &shelf{list: []Conversation{{ID: "3f2a9c11-x", Title: "Fix the test", Model: "openhands"}, {ID: "77aa77aa-x", Title: "Write notes", Model: "openhands"}}}
	s := &script{answer: says(gateway.Started{}, finished())}
	got := onPaper(t, s, func(cfg *Config) { cfg.Recent, cfg.History = kept, kept },
		"/sessions", "/sessions notes", "/resume nosuch", "/resume 3f2a", "/rename Retry", "/delete", "/delete yes", "/sessions")
	counts(t, got, map[string]int{
		"3f2a9c11-x: Fix the test": 1, "77aa77aa-x: Write notes": 3, "There is no conversation nosuch": 1,
		"Resumed “Fix the test” (3f2a9c11-x).\nYou: Fix the test\nWorked: 2 actions.\n" +
			"Sandbox: refused example.com:443, not on the allow list.\nSandbox: refused write /etc/hosts, read-only.\nSandbox: refused read /root, hidden.\nAnswer: Fixed.\n": 1,
		"Renamed to Retry.\n": 1, "/delete yes deletes this conversation and its files.\n": 1, "Deleted Retry.\n": 1,
	})
	if len(kept.list) != 1 {
		t.Errorf("listed: %v", kept.list)
	}
}

func TestAResumedConversationShowsWhatTheSandboxRefused(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, finished())}
	talk(t, s, func(cfg *Config) { cfg.History, cfg.Start.Conversation = &shelf{}, "3f2a9c11-x" }, func(c *chat) {
		for _, line := range []string{
			"⊘ sandbox refused example.com:443 · not on the allow list", "⊘ sandbox refused write /etc/hosts · read-only", "⊘ sandbox refused read /root · hidden",
		} {
			c.sees(line)
		}
	})
}
