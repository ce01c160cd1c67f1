package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/ohgw/ohgw/internal/gateway"
)

func TestAThemeChoosesTheColours(t *testing.T) {
	t.Parallel()
	for theme, want := range map[Theme]string{
		Auto: "\x1b[38;2;248;113;113m", Dark: "\x1b[38;2;248;113;113m", Light: "\x1b[38;2;185;28;28m", Terminal: "\x1b[31m",
	} {
		if got := newLooks(canvas{theme: theme, dark: true, coloured: true, rich: true}).bad; got != want {
			t.Errorf("%s: colour = %q, want %q", theme, got, want)
		}
		if got := newLooks(canvas{theme: theme, dark: true}); strings.Contains(got.bad+got.accent, "3") || got.theme.Markdown.Block != "" {
			t.Errorf("%s without colours: %q", theme, got.bad)
		}
	}
	if got := newLooks(canvas{theme: Light, dark: true, coloured: true}).bad; got != newLooks(canvas{theme: Auto, coloured: true}).bad {
		t.Errorf("light is %q where the terminal says dark", got)
	}
}

func TestAThemeIsChosenInTheChat(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, gateway.Text("**x**"), finished())}
	talk(t, s, func(cfg *Config) { cfg.Theme = Terminal }, func(c *chat) {
		c.send(tea.ColorProfileMsg{Profile: colorprofile.TrueColor})
		if c.looks.bad != "\x1b[31m" {
			t.Errorf("bad is %q", c.looks.bad)
		}
		c.press("/theme light", "enter")
		c.sees("theme: light")
		c.send(tea.BackgroundColorMsg{})
		if !strings.Contains(c.looks.bad, "185;28;28") {
			t.Errorf("bad is %q", c.looks.bad)
		}
		c.press("/theme pink", "enter")
		c.sees("themes are auto, light, dark and terminal")
	})
}

func TestTheMouseCanBeOnFromTheStart(t *testing.T) {
	s := &script{answer: says(finished())}
	talk(t, s, func(cfg *Config) { cfg.Mouse = true }, func(c *chat) {
		if c.View().MouseMode != tea.MouseModeCellMotion {
			t.Error("the mouse is the terminal's")
		}
	})
}
