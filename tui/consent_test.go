package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
)

// wants answers with actions that wait, one after each message.
func wants(commands ...string) *script {
	at := 0
	return &script{answer: func(_ context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		say(gateway.Started{})
		if at == len(commands) {
			say(finished())
			return nil
		}
		line := commands[at]
		at++
		id := strings.Repeat("i", at)
		say(gateway.Call{ID: id, State: "running", Kind: "command", Tool: "terminal", Line: "$ " + line, Input: line})
		say(gateway.Call{ID: id, State: "waiting", Kind: "command", Tool: "terminal", Line: "$ " + line})
		say(gateway.Done{RunStatus: "waiting_for_confirmation", Waiting: []gateway.Action{{Tool: "terminal", Line: "$ " + line}}})
		return nil
	}}
}

func TestAKeyAcceptsForLonger(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key   string
		asked int
		waits bool
	}{{"y", 2, true}, {"a", 3, true}, {"s", 4, false}, {"n", 2, true}} {
		t.Run(tc.key, func(t *testing.T) {
			s := wants("make", "make", "rm x")
			talk(t, s, nil, func(c *chat) {
				c.ask("go")
				c.sees("y yes, once   a always the same   s the whole session   n no")
				c.press(tc.key)
				c.wait(2 * time.Second)
				if got := c.chat.Pending != nil; len(s.asked) != tc.asked || got != tc.waits {
					t.Errorf("%d questions, waits %v", len(s.asked), got)
				}
			})
		})
	}
}

// click presses the left button on the first place of a text on the screen.
func (c *chat) click(text string) {
	c.Helper()
	for y, line := range strings.Split(c.screen(), "\n") {
		if before, _, ok := strings.Cut(line, text); ok {
			c.send(tea.MouseClickMsg{X: len([]rune(before)), Y: y, Button: tea.MouseLeft})
			return
		}
	}
	c.Errorf("%q is not on the screen:\n%s", text, c.screen())
}

func TestTheMouseAnswersTheCard(t *testing.T) {
	t.Parallel()
	for text, asked := range map[string]int{"yes, once": 2, "a always": 3, "whole session": 4, "n no": 2, "Confirm this": 1, "$ make": 1} {
		t.Run(text, func(t *testing.T) {
			s := wants("make", "make", "rm x")
			talk(t, s, nil, func(c *chat) {
				c.ask("go")
				c.click(text)
				c.wait(time.Second)
				if len(s.asked) != asked {
					t.Errorf("%d questions were asked, want %d", len(s.asked), asked)
				}
				if text == "n no" && s.asked[1].Decision != gateway.Reject {
					t.Errorf("decided %q", s.asked[1].Decision)
				}
			})
		})
	}
}

func TestTheMouseChoosesInListsAndMenus(t *testing.T) {
	s, d := answers(), project()
	talk(t, s, at(d), func(c *chat) {
		c.press("ctrl+p")
		c.click("openhands_work")
		c.sees("the next question uses openhands_work")
		c.press("/")
		c.click("/system")
		if got := c.input.Value(); got != "/system " {
			t.Errorf("the input has %q", got)
		}
		c.press("ctrl+u", "@")
		c.click("logo.png")
		if got := c.input.Value(); got != "@logo.png " {
			t.Errorf("the input has %q", got)
		}
		c.press("ctrl+u", "/confirm", "enter")
		c.click("risky")
		c.sees("Confirmation, from your next message on: risky")
		c.ask("go")
		s.asks(t, 1, gateway.Question{Confirmation: gateway.ConfirmRisky})
	})
}

func TestAPlainChatAcceptsForLonger(t *testing.T) {
	t.Parallel()
	s := wants("make", "make", "rm x")
	got := onPaper(t, s, nil, "/confirm", "/confirm always", "go", "always", "session", "always")
	counts(t, got, map[string]int{"risky: actions wait that": 1, "Type yes, always": 2})
	s.asks(t, 5, gateway.Question{Text: "always", Confirmation: gateway.ConfirmAlways})
}
