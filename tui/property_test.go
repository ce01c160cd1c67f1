package tui

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/session"
)

// fits checks that the screen is not larger than the terminal.
func (c *chat) fits() {
	c.Helper()
	lines, cursor := picture{c.model}.draw()
	if len(lines) > c.height {
		c.Errorf("%d lines in %d:\n%s", len(lines), c.height, c.screen())
	}
	for _, l := range lines {
		if n := ansi.StringWidth(l); n > c.width {
			c.Errorf("%q takes %d of %d cells", l, n, c.width)
		}
		if strings.ContainsAny(l, "\n\r\t") {
			c.Errorf("%q is no line", l)
		}
	}
	if cursor != nil && (cursor.X < 0 || cursor.X >= c.width || cursor.Y < 0 || cursor.Y >= c.height) {
		c.Errorf("the cursor is at %d,%d of %d,%d", cursor.X, cursor.Y, c.width, c.height)
	}
}

// mashed are keys and other things that happen, in any order and state.
func mashed(t *rapid.T, c *chat) {
	keys := slices.Sorted(maps.Keys(named))
	texts := []string{"y", "n", "r", "?", "a", "o", "w", "/", "/q", "日本", "👩‍💻", "שלום", "hello you", " ", "/find a", "/help", "/model", "/copy 1", "/system x", "/new"}
	pieces := []gateway.Piece{
		gateway.Started{},
		gateway.Started{Ignored: []string{"x"}},
		gateway.Waiting{Queue: 2},
		gateway.Lost{Attempt: 1, Err: errors.New("x")},
		gateway.Text("some **text**\n\n"), gateway.Text("```go\nx\n"), gateway.Text("| a | b |\n|---|---|\n| 1 | 2 |\n\n"), gateway.Progress("$ ls\n$ pwd"),
		gateway.Call{ID: "1", State: "running", Kind: "command", Line: "$ ls", Input: "ls\n世界"},
		gateway.Call{ID: "1", State: "failed", Kind: "command", Line: "$ ls\n", Output: "a\tb\x1b[2J\u202e\n" + strings.Repeat("長", 200)},
		gateway.Call{ID: "2", State: "done", Kind: "edit", Line: "Edit", Diff: "@@ -1 +1 @@\n-世界 \x1b[31m\n+" + strings.Repeat("y", 3000) + "\n", DiffCut: 3},
		gateway.Retry{Attempt: 2, Of: 5, Seconds: 3, Cause: "x\x1b[2J"},
		gateway.Call{ID: "3", State: "done", Kind: "tasks", Tasks: []gateway.Task{{Title: "長\n\x1b[m", Status: "done"}, {}}},
		gateway.Phase{Name: "reading", Prompt: 1925, Read: 7},
		gateway.Phase{Name: "writing"},
		gateway.Call{},
		refusal("a.example:443", true), refusal("a.example:443", false),
		gateway.Block{Access: "write", Target: strings.Repeat("/長\n", 90), Allow: "x"},
		gateway.Text(strings.Repeat("長", 300)), gateway.Text(strings.Repeat("x", 20_000)), gateway.Text("\x1b[31m\xff\u202e"), finished(),
		gateway.Done{RunStatus: "waiting_for_confirmation", Notice: "- $ rm\n- b\n- c\n- d\n- e"},
		gateway.Done{RunStatus: "paused", Notice: "It is paused."},
	}
	errs := []error{
		nil, context.Canceled, errors.New("x"), &gateway.Error{Kind: gateway.Unreachable, Message: "gone"}, &gateway.Error{Kind: gateway.Locked, Message: "no"},
		&gateway.Error{Kind: gateway.Busy, RetryAfter: time.Second}, &gateway.Error{Kind: gateway.Refused}, &gateway.Error{Kind: gateway.Stranger, Message: "<html>"},
	}
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0, 1, 2:
		key := rapid.SampledFrom(keys).Draw(t, "key")
		_, cmd := c.Update(named[key])
		c.follow(cmd)
	case 3, 4:
		for _, r := range rapid.SampledFrom(texts).Draw(t, "text") {
			_, cmd := c.Update(tea.KeyPressMsg{Text: string(r), Code: r})
			c.follow(cmd)
		}
	case 5:
		c.Update(tea.PasteMsg{Content: rapid.SampledFrom([]string{"", "x", "a\r\nb", strings.Repeat("z", 5000), "/tmp/a.png", "\x1b[2J"}).Draw(t, "paste")})
	case 6:
		c.Update(tea.WindowSizeMsg{Width: rapid.IntRange(1, 130).Draw(t, "width"), Height: rapid.IntRange(1, 45).Draw(t, "height")})
	case 7, 8:
		if c.chat.Turn == nil {
			break
		}
		msg := session.BatchMsg{Turn: c.chat.Turn, Pieces: rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 4).Draw(t, "pieces")}
		if rapid.IntRange(0, 4).Draw(t, "end") == 0 {
			msg.Over, msg.Err = true, rapid.SampledFrom(errs).Draw(t, "error")
		}
		c.Update(msg)
	case 9:
		others := []tea.Msg{
			tickMsg{},
			session.AgainMsg{},
			flashMsg{c.status.flashes},
			letterMsg{c.input.letter.n},
			session.ModelsMsg{},
			session.ModelsMsg{Err: errs[rapid.IntRange(1, len(errs)-1).Draw(t, "error")]},
			session.ModelsMsg{Models: []gateway.Model{{ID: "a"}, {ID: "b"}}},
			editedMsg{text: "edited"},
			editedMsg{err: errors.New("x")},
			session.DoneMsg{What: "x"},
			session.DoneMsg{Err: errors.New("x")},
			session.RecentMsg{List: []Conversation{{ID: "1"}, {ID: "2", Title: "t"}}},
			session.RecentMsg{Err: errors.New("x")},
			session.AttachedMsg{Image: Image{Name: "i"}},
			insertMsg{"/x.png"},
			tea.BackgroundColorMsg{},
			tea.ColorProfileMsg{Profile: colorprofile.ASCII},
			tea.ColorProfileMsg{Profile: colorprofile.TrueColor},
			tea.MouseWheelMsg{Button: tea.MouseWheelUp},
			tea.MouseWheelMsg{Button: tea.MouseWheelDown},
			tea.FocusMsg{},
			session.RememberedMsg{Err: errors.New("x")},
		}
		c.Update(rapid.SampledFrom(others).Draw(t, "message"))
	}
}

// follow notes what a key asked for without running it.
func (c *chat) follow(tea.Cmd) {}

func TestMashedKeysBreakNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Unix(1_800_000_000, 0)
		ids := 0
		cfg := Config{Endpoint: &script{}, Now: func() time.Time { now = now.Add(time.Duration(ids%40) * time.Millisecond); return now }, NewID: func() string { ids++; return fmt.Sprint(ids) }}
		c := &chat{T: t, model: newModel(t.Context(), cfg)}
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			mashed(rt, c)
			c.fits()
			c.View()
			if t.Failed() {
				rt.Fatal("see above")
			}
		}
	})
}

// TestWhatIsWrittenIsNeverLost types a text in between whatever happens: it is
// in the input, was asked, or stands in what waits to be asked. A line end that
// is typed in the middle of a word parts it and loses nothing: in a narrow
// window "up" leads there.
func TestWhatIsWrittenIsNeverLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Unix(1_800_000_000, 0)
		ids := 0
		cfg := Config{Endpoint: &script{}, Now: func() time.Time { return now }, NewID: func() string { ids++; return fmt.Sprint(ids) }}
		c := &chat{T: t, model: newModel(t.Context(), cfg)}
		c.Update(session.ModelsMsg{Models: []gateway.Model{{ID: "m"}}})
		var written []string
		for i := range rapid.IntRange(1, 30).Draw(rt, "steps") {
			now = now.Add(50 * time.Millisecond)
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0, 1:
				word := fmt.Sprintf("%s%dw", rapid.SampledFrom([]string{"", "y", "r", "n", "?"}).Draw(rt, "letter"), i)
				c.Update(named["end"])
				for _, r := range word {
					c.Update(tea.KeyPressMsg{Text: string(r), Code: r})
				}
				written = append(written, word)
			case 2:
				key := rapid.SampledFrom([]string{"enter", "esc", "tab", "pgup", "up", "down", "end", "ctrl+c", "ctrl+j", "ctrl+o", "ctrl+t"}).Draw(rt, "key")
				c.Update(named[key])
			case 3, 4:
				if c.chat.Turn != nil {
					msg := session.BatchMsg{Turn: c.chat.Turn, Pieces: []gateway.Piece{rapid.SampledFrom([]gateway.Piece{
						gateway.Started{}, gateway.Text("x"), gateway.Progress("y"), finished(), gateway.Done{RunStatus: "waiting_for_confirmation"},
					}).Draw(rt, "piece")}}
					msg.Over = rapid.Bool().Draw(rt, "over")
					c.Update(msg)
				}
			case 5:
				c.Update(rapid.SampledFrom([]tea.Msg{
					letterMsg{c.input.letter.n},
					flashMsg{c.status.flashes},
					tea.WindowSizeMsg{Width: 20 + i, Height: 5 + i},
					session.ModelsMsg{Err: &gateway.Error{Kind: gateway.Unreachable}},
					session.ModelsMsg{Models: []gateway.Model{{ID: "m"}}},
					tickMsg{},
				}).Draw(rt, "message"))
			}
			all := c.input.Value() + c.input.letter.text + strings.Join(c.input.history, " ") + c.input.kept.Text()
			for _, o := range c.chat.Queue {
				all += o.Text
			}
			all = strings.ReplaceAll(all, "\n", "")
			for _, w := range written {
				if !strings.Contains(all, w) {
					rt.Fatalf("%q is lost: input %q, history %q, queue %v", w, c.input.Value(), c.input.history, c.chat.Queue)
				}
			}
		}
	})
}
