package tui

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// The letters of other alphabets on the card: at a position that the terminal
// tells they answer like its letters; where it is guessed, Enter has to confirm.
func TestTheCardIsAnsweredInOtherAlphabets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		keys  []tea.KeyPressMsg
		asked int
	}{
		{"told", []tea.KeyPressMsg{{Code: 'н', BaseCode: 'y', Text: "н"}}, 2},
		{"told otherwise", []tea.KeyPressMsg{{Code: 'ν', BaseCode: 'n', Text: "ν"}}, 2},
		{"guessed", []tea.KeyPressMsg{{Code: 'ט', Text: "ט"}}, 1},
		{"guessed and confirmed", []tea.KeyPressMsg{{Code: 'ט', Text: "ט"}, named["enter"]}, 2},
		{"guessed, then another key", []tea.KeyPressMsg{{Code: 'υ', Text: "υ"}, named["up"]}, 1},
		{"guessed, then a word", []tea.KeyPressMsg{{Code: 'н', Text: "н"}, {Code: 'е', Text: "е"}, {Code: 'т', Text: "т"}}, 1},
		{"no key's place", []tea.KeyPressMsg{{Code: 'ж', Text: "ж"}}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := wants("make", "make")
			talk(t, s, nil, func(c *chat) {
				c.ask("go")
				c.sees("y yes, once")
				for _, key := range tc.keys {
					c.send(key)
				}
				c.wait(3 * time.Second)
				if len(s.asked) != tc.asked {
					t.Errorf("%d questions, want %d", len(s.asked), tc.asked)
				}
			})
		})
	}
}

func TestAGuessedLetterIsShownWithItsPosition(t *testing.T) {
	talk(t, wants("make"), nil, func(c *chat) {
		c.ask("go")
		c.send(tea.KeyPressMsg{Code: 'н', Text: "н"})
		c.sees("› н (y)", "Enter answers y")
		c.press("е", "т")
		if got := c.input.Value(); got != "нет" {
			t.Errorf("the input has %q", got)
		}
	})
}

func TestTheKeysOfViAreFoundByPosition(t *testing.T) {
	talk(t, answers(), func(cfg *Config) { cfg.Vim = true }, func(c *chat) {
		c.press("one two", "esc", "и", "ц", "x")
		if got := c.input.Value(); got != "one tw" {
			t.Errorf("the input has %q", got)
		}
	})
}
