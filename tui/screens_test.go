package tui

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/gateway"
)

var update = flag.Bool("update", false, "write the golden screens")

const page = `I found it: **the test reads the wall clock**, see [the report](https://example.test/12).

## What I changed

1. The clock is injected now, so that the test is in control of every tick
2. The sleep is a channel

| file | lines |
|:-----|------:|
| retry.go | 12 |
| 日本語.go | 4 |

` + "```go\nfunc TestRetry(t *testing.T) {\n\ttick := make(chan time.Time) // fed by the test\n}\n```\n\nAll green: שלום 👩‍💻 ❤️.\n"

// scenes are the main states, as reviewed screens.
var scenes = []struct {
	name   string
	script script
	change func(*Config)
	play   func(c *chat)
}{
	{name: "welcome", play: func(*chat) {}},
	{
		name: "answer", script: script{answer: says(gateway.Started{}, gateway.Text("I look at the test first.\n"), gateway.Progress("$ go test -race ./internal/retry/..."),
			gateway.Progress("View internal/retry/retry_test.go"), gateway.Progress("Edit internal/retry/retry.go"), gateway.Text(page), finished())},
		play: func(c *chat) { c.ask("Fix the flaky test in internal/retry"); c.press("next ques") },
	},
	{name: "actions", script: script{answer: says(deeds()...)}, play: func(c *chat) { c.ask("Fix the flaky test") }},
	{name: "opened", script: script{answer: says(deeds()...)}, play: func(c *chat) { c.ask("Fix the flaky test"); c.press("ctrl+o", "alt+up", "alt+up") }},
	{name: "working", script: script{answer: func(ctx context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		say(gateway.Started{})
		say(gateway.Text("I look at the test first.\n"))
		for i := range 6 {
			say(gateway.Progress(fmt.Sprintf("$ go test -run Test%d ./internal/retry/... # and a comment that makes it long", i)))
		}
		<-ctx.Done()
		return ctx.Err()
	}}, play: func(c *chat) { c.ask("Fix the flaky test"); c.wait(4 * time.Second); c.press("then run all", "enter") }},
	{
		name: "confirm", script: script{answer: says(gateway.Started{}, gateway.Progress("View Makefile"), gateway.Text("I would clean up now."),
			gateway.Done{RunStatus: "waiting_for_confirmation", Waiting: []gateway.Action{{Tool: "terminal", Line: "$ rm -rf build && make release"}, {Tool: "file_editor", Line: "Edit /etc/hosts"}}})},
		play: func(c *chat) { c.ask("Release it") },
	},
	{name: "refused", script: script{answer: says(stopped(false)...)}, change: guarded(&guard{}), play: func(c *chat) { c.ask("Install it"); c.press("a"); c.wait(time.Second) }},
	{name: "held", script: script{answer: hangs(stopped(true)[:4]...)}, change: guarded(&guard{level: "reduced"}), play: func(c *chat) { c.ask("Install it"); c.wait(8 * time.Second) }},
	{name: "failed", script: script{answer: fails(&gateway.Error{Kind: gateway.Failed, Message: "the provider refused the key of profile work: 401 invalid x-api-key. Set a new one with ohgw keys set anthropic."},
		gateway.Started{}, gateway.Progress("$ ls"))}, play: func(c *chat) { c.ask("Fix the flaky test") }},
	{name: "stopped", script: script{answer: hangs(gateway.Started{}, gateway.Text("Half of the "))}, play: func(c *chat) { c.ask("Go on"); c.wait(3 * time.Second); c.press("esc"); c.wait(5 * time.Second) }},
	{name: "queue", script: script{answer: hangs(gateway.Started{}, gateway.Waiting{Queue: 2})}, play: func(c *chat) { c.ask("Go on"); c.wait(2 * time.Second) }},
	{name: "lost", script: script{answer: hangs(gateway.Started{}, gateway.Text("Half of the "), gateway.Lost{Attempt: 1, Err: errors.New("eof")})}, play: func(c *chat) { c.ask("Go on"); c.wait(2 * time.Second) }},
	{name: "hung", script: script{answer: hangs()}, play: func(c *chat) { c.ask("Go on"); c.wait(7 * time.Second) }},
	{name: "unreachable", script: script{models: func(context.Context) ([]gateway.Model, error) {
		return nil, &gateway.Error{Kind: gateway.Unreachable, Message: "connection refused"}
	}}, play: func(c *chat) { c.press("my text") }},
	{name: "locked", script: script{models: func(context.Context) ([]gateway.Model, error) {
		return nil, &gateway.Error{Kind: gateway.Locked, Message: "the key is not known here"}
	}}, play: func(*chat) {}},
	{name: "no-models", script: script{models: func(context.Context) ([]gateway.Model, error) { return nil, nil }}, play: func(*chat) {}},
	{name: "demo", change: func(cfg *Config) {
		cfg.Place = Place{Title: "in this process", Demo: true, Notice: "No daemon was running: one works in this process on a free port, until you leave."}
	}, play: func(*chat) {}},
	{name: "declined", script: script{answer: says(gateway.Started{}, gateway.Text("I see no files here."), finished())}, change: func(cfg *Config) {
		cfg.Place.Notice = "The agent does not work in ~/src/greeter, but in a new, empty directory below ~/.local/state/ohgw/workspaces.\nTo let it work in ~/src/greeter: ohgw chat --workspace ."
		cfg.Locate = func(string) Where {
			return Where{Away: []string{"a new directory, not ~/src/greeter (to work there: ohgw chat --workspace .)", "not in greeter: ohgw chat --workspace .", "not in greeter: --workspace .", "not in greeter"}}
		}
	}, play: func(c *chat) { c.ask("Which files are here?") }},
	{name: "models", play: func(c *chat) { c.press("ctrl+p", "op") }},
	{name: "conversations", play: func(c *chat) { c.press("ctrl+r", "down") }},
	{name: "commands", play: func(c *chat) { c.press("/s") }},
	{name: "help", play: func(c *chat) { c.press("/help", "enter", "down") }},
	{name: "search", script: script{answer: says(gateway.Started{}, gateway.Text(page), finished())}, play: func(c *chat) { c.ask("Fix it"); c.press("ctrl+f", "clock") }},
	{name: "pasted", play: func(c *chat) {
		c.press("Why does this fail?", "ctrl+j")
		c.send(tea.PasteMsg{Content: strings.Repeat("log line\n", 200_000)})
		c.send(tea.PasteMsg{Content: "/tmp/shot.png"})
		c.wait(5 * time.Second)
	}},
}

func TestScreensLookAsReviewed(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}, {20, 5}} {
		for _, scene := range scenes {
			name := fmt.Sprintf("%s.%dx%d", scene.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				s := scene.script
				talk(t, &s, scene.change, func(c *chat) {
					c.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
					scene.play(c)
					c.fits()
					isGolden(t, name+".golden", c.screen())
				})
			})
		}
	}
}

// isGolden checks a text against what was reviewed.
func isGolden(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}
