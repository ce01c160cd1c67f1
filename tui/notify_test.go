package tui

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/gateway"
)

// takes answers after a while.
func takes(d time.Duration, last gateway.Done) *script {
	return &script{answer: func(_ context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		say(gateway.Started{})
		time.Sleep(d)
		say(last)
		return nil
	}}
}

func TestTheEndOfALongTurnIsAnnounced(t *testing.T) {
	t.Parallel()
	waiting := gateway.Done{RunStatus: "waiting_for_confirmation", Notice: "- $ make"}
	for _, tc := range []struct {
		name    string
		took    time.Duration
		away    bool
		off     bool
		environ []string
		done    gateway.Done
		want    string
	}{
		{name: "away", took: 12 * time.Second, away: true, done: finished(), want: "\a\x1b]9;ohgw: The agent has answered after 12 s: fix, please\x07"},
		{name: "confirm", took: 12 * time.Second, away: true, done: waiting, want: "\a\x1b]9;ohgw: The agent waits for your confirmation after 12 s: fix, please\x07"},
		{name: "vte", took: 12 * time.Second, away: true, environ: []string{"VTE_VERSION=7"}, done: finished(), want: "\a\x1b]777;notify;ohgw;The agent has answered after 12 s: fix, please\x07"},
		{name: "tmux", took: 12 * time.Second, away: true, environ: []string{"TMUX=x"}, done: finished(), want: "\a\x1bPtmux;\x1b\x1b]9;ohgw: The agent has answered after 12 s: fix, please\x07\x1b\\"},
		{name: "short", took: 2 * time.Second, away: true, done: finished()},
		{name: "here", took: 12 * time.Second, done: finished()},
		{name: "off", took: 12 * time.Second, away: true, off: true, done: finished()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			talk(t, takes(tc.took, tc.done), func(cfg *Config) { cfg.Notify, cfg.Environ = !tc.off, tc.environ }, func(c *chat) {
				c.press("fix; please", "enter")
				if tc.away {
					c.send(tea.BlurMsg{})
				} else {
					c.send(tea.BlurMsg{})
					c.send(tea.FocusMsg{})
				}
				c.wait(15 * time.Second)
				if got := strings.Join(c.raw, ""); got != tc.want {
					t.Errorf("written = %q, want %q", got, tc.want)
				}
			})
		})
	}
}

func TestTheInputHasTheKeysOfVi(t *testing.T) {
	s := answers()
	talk(t, s, func(cfg *Config) { cfg.Vim = true }, func(c *chat) {
		c.press("one two", "esc")
		c.sees("NORMAL")
		c.press("bcw", "2", "esc", "0", "i", "zero ")
		c.misses("NORMAL")
		c.press("enter")
		c.wait(time.Second)
		s.asks(t, 1, gateway.Question{Text: "zero one 2"})
		c.press("esc", "k")
		if got := c.input.Value(); got != "zero one 2" {
			t.Errorf("k gives %q", got)
		}
		c.press("dd", "/")
		c.sees("text to find")
		c.press("esc", "?")
		c.wait(time.Second)
		c.sees("Help")
	})
}

func TestEscStopsTheRunInTheNormalMode(t *testing.T) {
	s := &script{answer: hangs(gateway.Started{})}
	talk(t, s, func(cfg *Config) { cfg.Vim = true }, func(c *chat) {
		c.ask("go")
		c.press("esc")
		c.misses("stopped")
		c.press("esc")
		c.sees("stopped")
	})
}

func TestAModelThatWasAddedIsChosen(t *testing.T) {
	s := answers()
	talk(t, s, func(cfg *Config) {
		cfg.AddModel = func() (*exec.Cmd, error) { return exec.Command("true"), nil }
	}, func(c *chat) {
		c.press("ctrl+p", "add a model")
		c.sees("ohgw profiles add")
		_, _ = c.addModel()
		models, _ := s.Models(c.ctx)
		s.models = func(context.Context) ([]gateway.Model, error) {
			return append(models, gateway.Model{ID: "openhands_new"}), nil
		}
		c.press("esc")
		c.send(addedMsg{})
		c.sees("Model: openhands_new.")
		c.ask("go")
		s.asks(t, 1, gateway.Question{Model: "openhands_new"})
	})
}

func TestSettingsAreChangedAndStored(t *testing.T) {
	stored := map[string]any{}
	talk(t, answers(), func(cfg *Config) {
		cfg.Store = func(key string, value any) error { stored[key] = value; return nil }
	}, func(c *chat) {
		for _, key := range []string{"vim", "notify", "mouse", "theme"} {
			c.press("/settings", "enter", key, "enter")
			c.wait(100 * time.Millisecond)
			c.sees(key+": ", "· stored")
		}
		if c.vim == nil || !c.cfg.Notify || !c.mouse || c.canvas.theme != Light {
			t.Errorf("vim %v, notify %v, mouse %v, theme %v", c.vim, c.cfg.Notify, c.mouse, c.canvas.theme)
		}
		if want := map[string]any{"vim": true, "notify": true, "mouse": true, "theme": "light"}; !cmp.Equal(stored, want) {
			t.Errorf("stored %v", stored)
		}
		c.press("/settings", "enter", "conf", "enter")
		c.sees("never", "no action waits")
	})
}
