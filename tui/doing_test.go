package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/gateway"
)

func TestModelIsPickedByAFewLetters(t *testing.T) {
	s := &script{answer: says(finished())}
	talk(t, s, nil, func(c *chat) {
		c.press("draft", "ctrl+p")
		c.sees("Models", "› openhands ", "openhands_local", "the active profile · in use")
		c.press("olq")
		c.sees("› openhands_local")
		c.misses("openhands_work")
		c.press("enter", "enter")
		s.asks(t, 1, gateway.Question{Model: "openhands_local", Text: "draft"})
		c.press("/model work", "enter", "x", "enter")
		s.asks(t, 2, gateway.Question{Model: "openhands_work"})
		c.press("/model zzz", "enter")
		c.sees("no model matches zzz", "/model zzz")
		c.press("ctrl+u", "ctrl+p", "zzz")
		c.sees("no match")
		c.press("ctrl+u", "down", "down", "down", "up", "enter")
		if c.chat.Model != "openhands_work" {
			t.Errorf("chosen %q", c.chat.Model)
		}
	})
}

// housekeeper is a gateway that lists a model without an agent first.
func housekeeper(context.Context) ([]gateway.Model, error) {
	return []gateway.Model{{ID: "openhands_utility", Plain: true}, {ID: "openhands"}, {ID: "openhands_work"}}, nil
}

func TestAModelWithoutAnAgentIsNotOffered(t *testing.T) {
	s := &script{answer: says(finished()), models: housekeeper}
	talk(t, s, nil, func(c *chat) {
		if c.chat.Model != "openhands" {
			t.Errorf("chosen %q", c.chat.Model)
		}
		c.press("ctrl+p")
		c.sees("› openhands ", "openhands_work")
		c.misses("openhands_utility")
		c.press("esc", "/model util", "enter")
		c.sees("no model matches util")
		c.press("ctrl+u", "/model openhands_utility", "enter", "hi", "enter")
		s.asks(t, 1, gateway.Question{Model: "openhands_utility"})
	})
}

func TestAModelWithoutAnAgentCanBeNamed(t *testing.T) {
	s := &script{answer: says(finished()), models: housekeeper}
	talk(t, s, func(cfg *Config) { cfg.Start.Model = "openhands_utility" }, func(c *chat) {
		c.misses("is not available here")
		c.press("hi", "enter")
		s.asks(t, 1, gateway.Question{Model: "openhands_utility"})
		c.press("ctrl+p")
		c.sees("openhands_utility", "in use")
	})
}

func TestAModelWithoutAnAgentIsBetterThanNone(t *testing.T) {
	s := &script{answer: says(finished()), models: func(context.Context) ([]gateway.Model, error) {
		return []gateway.Model{{ID: "openhands_utility", Plain: true}}, nil
	}}
	talk(t, s, nil, func(c *chat) {
		if c.chat.Model != "openhands_utility" {
			t.Errorf("chosen %q", c.chat.Model)
		}
	})
}

func TestFuzzyPrefersBeginningsOfWords(t *testing.T) {
	t.Parallel()
	if a, b := fuzzy("wk", "openhands_work"), fuzzy("wk", "snowkey"); a <= b {
		t.Errorf("scores %d and %d", a, b)
	}
	if fuzzy("xyz", "abc") != -1 || fuzzy("", "abc") != 0 || fuzzy("ba", "ab") != -1 {
		t.Error("what does not match matches")
	}
}

func TestConversationsBeginAndGoOn(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, gateway.Text("hello"), finished())}
	talk(t, s, nil, func(c *chat) {
		c.ask("one")
		c.press("ctrl+n")
		c.misses("hello")
		c.sees("New conversation.")
		c.ask("two")
		if s.asked[0].Conversation == s.asked[1].Conversation {
			t.Error("the new conversation is the old one")
		}
		c.press("ctrl+r")
		c.sees("Conversations", "Fix the flaky retry test", "3 h ago · openhands_work · 3f2a9c11", "3 days ago")
		c.press("flaky", "enter")
		c.sees("Resumed “Fix the flaky retry test” (3f2a9c11-x)")
		c.ask("three")
		s.asks(t, 3, gateway.Question{Conversation: "3f2a9c11-x", Model: "openhands_work"})
		c.press("/resume abc-1", "enter")
		c.ask("four")
		s.asks(t, 4, gateway.Question{Conversation: "abc-1"})
		c.press("ctrl+x")
		if c.copied[len(c.copied)-1] != "abc-1" || c.system[len(c.system)-1] != "abc-1" {
			t.Errorf("copied %q, %q", c.copied, c.system)
		}
	})
}

func TestAnswersAndCodeAreCopiedAsTheyCame(t *testing.T) {
	answer := "Do **this**:\n\n```make\nall:\n\tgo build\n```\n\nand\n\n```\ntwo\n```\n"
	talk(t, &script{answer: says(gateway.Started{}, gateway.Text(answer), finished())}, nil, func(c *chat) {
		c.press("ctrl+y")
		c.sees("there is no answer to copy")
		c.ask("how")
		c.press("ctrl+y", "alt+y")
		c.sees("Blocks of code", "› 1  all:", "2 lines")
		c.press("enter", "/copy 2", "enter")
		want := []string{strings.TrimRight(answer, "\n"), "all:\n\tgo build\n", "two\n"}
		if diff := cmp.Diff(want, c.copied); diff != "" {
			t.Errorf("terminal (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, c.system); diff != "" {
			t.Errorf("system (-want +got):\n%s", diff)
		}
		c.press("/copy 3", "enter")
		c.sees("the last answer has 2 blocks of code")
	})
}

func TestRetryAsksAgain(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, gateway.Text("a"), finished())}
	talk(t, s, nil, func(c *chat) {
		c.press("ctrl+t")
		c.sees("there is no question to send again")
		c.ask("go")
		c.press("/retry", "enter")
		c.wait(time.Second)
		s.asks(t, 2, gateway.Question{Text: "go"})
		s.joins(t, false)
	})
}

func TestHistoryKeepsTheDraft(t *testing.T) {
	talk(t, &script{answer: says(finished())}, nil, func(c *chat) {
		c.ask("one")
		c.ask("two")
		c.press("draft")
		for _, step := range []struct{ key, want string }{
			{"up", "two"}, {"up", "one"}, {"up", "one"}, {"down", "two"}, {"down", "draft"}, {"down", "draft"},
		} {
			c.wait(100 * time.Millisecond) // A finger is slower than a wheel.
			c.press(step.key)
			if got := c.input.Value(); got != step.want {
				t.Errorf("after %s: %q, want %q", step.key, got, step.want)
			}
		}
	})
}

func TestDraftComesBackWhenAnOldQuestionIsSentAgain(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, finished())}
	talk(t, s, nil, func(c *chat) {
		c.ask("old")
		c.press("draft", "up", "enter")
		s.asks(t, 2, gateway.Question{Text: "old"})
		if got := c.input.Value(); got != "draft" {
			t.Errorf("the input is %q", got)
		}
	})
}

func TestFastFingersAreNoWheel(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, finished())}
	talk(t, s, nil, func(c *chat) {
		for _, q := range []string{"one", "two", "three", "four"} {
			c.ask(q)
		}
		c.press("up", "up", "up", "up") // There is nothing to scroll.
		if got := c.input.Value(); got != "one" {
			t.Errorf("the input is %q", got)
		}
		c.wait(time.Second)
		c.press("ctrl+u")
		longChat(c)
		c.press("up", "up")
		if got := c.input.Value(); got != "question 18" {
			t.Errorf("in a long chat the input is %q", got)
		}
	})
}

// longChat has more in its transcript than a screen.
func longChat(c *chat) {
	for i := range 20 {
		c.ask(fmt.Sprintf("question %d", i))
	}
}

func TestWheelScrollsWithoutAMouse(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, gateway.Text("one\n\ntwo"), finished())}
	talk(t, s, nil, func(c *chat) {
		longChat(c)
		c.press("draft")
		c.sees("question 19")
		for range 8 {
			c.wait(200 * time.Millisecond)
			c.press("up", "up", "up") // A notch of the wheel, as terminals send it.
		}
		for range 6 {
			c.wait(100 * time.Millisecond)
			c.press("up") // The end of a gesture on a touchpad.
		}
		c.misses("question 19")
		c.sees("↓ more below", "› draft")
		if c.input.recall != len(c.input.history) {
			t.Error("the wheel went through the history")
		}
		for range 12 {
			c.wait(50 * time.Millisecond)
			c.press("down", "down", "down", "down")
		}
		c.sees("question 19")
		c.misses("more below")
		c.send(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
		c.sees("more below")
		c.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
		c.misses("more below")
	})
}

func TestMouseIsTheTerminalsUntilAskedFor(t *testing.T) {
	talk(t, &script{}, nil, func(c *chat) {
		if c.View().MouseMode != tea.MouseModeNone {
			t.Error("the mouse is taken")
		}
		c.press("/mouse", "enter")
		if c.View().MouseMode != tea.MouseModeCellMotion {
			t.Error("/mouse does not take it")
		}
		c.press("/mouse", "enter")
		if c.View().MouseMode != tea.MouseModeNone {
			t.Error("/mouse does not give it back")
		}
	})
}

func TestKeysScroll(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, gateway.Text("ok"), finished())}
	talk(t, s, nil, func(c *chat) {
		longChat(c)
		c.press("ctrl+home")
		c.sees("question 0")
		c.press("pgdown")
		c.misses("question 0")
		c.press("pgup", "shift+down", "shift+up")
		c.sees("question 0")
		c.press("ctrl+end")
		c.sees("question 19")
		c.press("pgup", "esc")
		c.sees("question 19")
	})
}

func TestSearchFindsUpwardsAndMarks(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, gateway.Text("The Needle is **here**"), finished())}
	talk(t, s, nil, func(c *chat) {
		c.ask("first")
		s.answer = says(gateway.Started{}, gateway.Text(strings.Repeat("hay\n\n", 60)), finished())
		c.ask("second")
		c.press("draft", "ctrl+f", "needle")
		c.sees("The Needle is here", "/needle", "in 1 message")
		if !strings.Contains(c.View().Content, "\x1b[7mNeedle") {
			t.Error("what was found is not marked")
		}
		c.press("x")
		c.sees("not found")
		c.press("esc")
		c.sees("› draft")
		c.press("ctrl+u", "/find hay", "enter", "enter", "up", "down")
		c.sees("/hay", "in 1 message")
	})
}

func TestProgressFoldsAndUnfolds(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, gateway.Progress("$ one"), gateway.Progress("$ two"), gateway.Text("done"), finished())}
	talk(t, s, nil, func(c *chat) {
		c.ask("go")
		c.sees("▸ 2 actions, at last $ two")
		c.misses("$ one")
		c.press("ctrl+o")
		c.sees("· $ one", "· $ two")
		c.press("/progress", "enter")
		c.misses("$ one")
	})
}

func TestSaveSystemAndQuit(t *testing.T) {
	s := &script{answer: says(gateway.Started{Ignored: []string{"system"}}, gateway.Text("an answer"), finished())}
	talk(t, s, nil, func(c *chat) {
		c.press("/system be brief", "enter")
		c.ask("go")
		s.asks(t, 1, gateway.Question{System: "be brief"})
		c.sees("ignored here: system")
		c.press("/save talk.md", "enter")
		c.sees("saved to /home/me/talk.md")
		if got, want := c.system[0], "## You\n\ngo\n\n## openhands\n\nan answer\n\n"; got != want {
			t.Errorf("saved %q, want %q", got, want)
		}
		c.press("/save", "enter")
		c.sees("/save needs the name of a file")
		c.press("ctrl+u", "/quit", "enter")
		if !c.quit {
			t.Error("/quit does not leave")
		}
	})
}

func TestPathIsNoCommand(t *testing.T) {
	s := &script{answer: says(finished())}
	talk(t, s, nil, func(c *chat) {
		c.press("/etc/hosts is what?", "enter")
		s.asks(t, 1, gateway.Question{})
	})
}

func TestCommandsAreCompleted(t *testing.T) {
	talk(t, &script{}, nil, func(c *chat) {
		c.press("/re")
		c.sees("/resume [ID]", "/retry")
		c.press("s", "tab")
		if got := c.input.Value(); got != "/resume " {
			t.Errorf("completed to %q", got)
		}
	})
}

func TestHelpListsEveryKeyAndCommand(t *testing.T) {
	talk(t, &script{}, nil, func(c *chat) {
		c.send(tea.WindowSizeMsg{Width: 120, Height: 90})
		c.press("/help", "enter")
		for _, table := range [][]binding{bindings, letters} {
			for _, b := range table {
				c.sees(keyNames(b), b.what)
			}
		}
		for _, s := range slashCommands() {
			c.sees(s.name, s.what)
		}
		c.sees("Shift+Enter, Alt+Enter, Ctrl+J", "PgUp", "Ctrl+←", "Alt+Y")
		c.press("down", "up")
		c.sees("Help")
		c.press("x")
		c.misses("any other key closes")
	})
}

func TestNoKeyDoesTwoThings(t *testing.T) {
	t.Parallel()
	seen := map[string]action{}
	for _, b := range bindings {
		for _, k := range b.keys {
			if other, ok := seen[k]; ok {
				t.Errorf("%s does %d and %d", k, other, b.do)
			}
			seen[k] = b.do
		}
	}
}

func TestEditorBringsItsTextBack(t *testing.T) {
	talk(t, &script{}, func(cfg *Config) {
		cfg.Edit = func(string) (*Draft, error) { return nil, errors.New("no $EDITOR") }
	}, func(c *chat) {
		c.press("draft", "ctrl+g")
		c.sees("The editor cannot be opened: no $EDITOR", "› draft")
		c.send(editedMsg{text: "from the editor\n"})
		if got := c.input.Value(); got != "from the editor" {
			t.Errorf("the input is %q", got)
		}
		c.send(editedMsg{err: errors.New("exit status 1")})
		if got := c.input.Value(); got != "from the editor" {
			t.Errorf("after a failure the input is %q", got)
		}
	})
}

func TestFirstQuestionIsAskedWhenThereIsAModel(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, gateway.Text("hi"), finished())}
	s.models = func(context.Context) ([]gateway.Model, error) {
		time.Sleep(time.Second)
		return []gateway.Model{{ID: "m"}}, nil
	}
	talk(t, s, func(cfg *Config) { cfg.Start.Text = "hello" }, func(c *chat) {
		c.sees("then: hello")
		c.wait(2 * time.Second)
		c.sees("▌ hello", "hi")
		s.asks(t, 1, gateway.Question{Model: "m"})
	})
}

func TestConversationOfTheStartGoesOn(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, finished())}
	talk(t, s, func(cfg *Config) {
		cfg.Start = Start{Model: "openhands_work", Conversation: "c-9", System: "brief", Timeout: time.Minute}
		cfg.Recent = nil
	}, func(c *chat) {
		c.sees("Resumed conversation c-9")
		c.ask("x")
		c.sees("Resumed conversation c-9")
		s.asks(t, 1, gateway.Question{Model: "openhands_work", Conversation: "c-9", System: "brief", Timeout: time.Minute})
		c.press("ctrl+r")
		c.sees("conversations are not stored on this machine")
	})
}

func TestTheStatusSaysWhatALocalModelIsWaitedFor(t *testing.T) {
	for want, pieces := range map[string][]gateway.Piece{
		"loading the model":                     {gateway.Phase{Name: "loading"}},
		"reading the prompt, 1,925 tokens, 53%": {gateway.Phase{Name: "loading"}, gateway.Phase{Name: "reading", Prompt: 1925, Read: 1024}},
		"thinking":                              {gateway.Phase{Name: "reading", Prompt: 1925}, gateway.Phase{Name: "writing"}},
		"writing":                               {gateway.Phase{Name: "reading", Prompt: 1925}, gateway.Text("It is ")},
	} {
		t.Run(want, func(t *testing.T) {
			s := &script{answer: hangs(append([]gateway.Piece{gateway.Started{}}, pieces...)...)}
			talk(t, s, nil, func(c *chat) {
				c.ask("hello")
				c.sees(want)
			})
		})
	}
}
