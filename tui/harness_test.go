package tui

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ohgw/ohgw/internal/gateway"
)

// script is a gateway that does what a test says.
type script struct {
	models func(context.Context) ([]gateway.Model, error)
	answer func(ctx context.Context, q gateway.Question, say func(gateway.Piece)) error
	asked  []gateway.Question
}

func (s *script) Models(ctx context.Context) ([]gateway.Model, error) {
	if s.models != nil {
		return s.models(ctx)
	}
	return []gateway.Model{
		{ID: "openhands", Description: "the active profile"},
		{ID: "openhands_work", Description: "anthropic claude"},
		{ID: "openhands_local", Description: "ollama qwen"},
	}, nil
}

func (s *script) Ask(ctx context.Context, q gateway.Question) iter.Seq2[gateway.Piece, error] {
	s.asked = append(s.asked, q)
	return func(yield func(gateway.Piece, error) bool) {
		going := true
		err := s.answer(ctx, q, func(p gateway.Piece) {
			if going {
				going = yield(p, nil)
			}
		})
		if err != nil && going {
			yield(nil, err)
		}
	}
}

// asks checks that the nth question was the last one, and each field of it that
// want has.
func (s *script) asks(t *testing.T, n int, want gateway.Question) {
	t.Helper()
	if len(s.asked) != n {
		t.Fatalf("%d questions were asked, want %d: %+v", len(s.asked), n, s.asked)
	}
	got, expected := reflect.ValueOf(s.asked[n-1]), reflect.ValueOf(want)
	for i := range expected.NumField() {
		if e := expected.Field(i); !e.IsZero() && !reflect.DeepEqual(e.Interface(), got.Field(i).Interface()) {
			t.Errorf("question %d: %s is %v, want %v", n, expected.Type().Field(i).Name, got.Field(i), e)
		}
	}
}

// joins checks whether the last question has the key of the one before it, and
// so joins its run.
func (s *script) joins(t *testing.T, want bool) {
	t.Helper()
	n := len(s.asked)
	if got := s.asked[n-1].Key == s.asked[n-2].Key; got != want {
		t.Errorf("question %d joins the run before it: %v, want %v", n, got, want)
	}
}

// says answers with pieces, and finishes.
func says(pieces ...gateway.Piece) func(context.Context, gateway.Question, func(gateway.Piece)) error {
	return func(_ context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		for _, p := range pieces {
			say(p)
		}
		return nil
	}
}

// hangs says pieces and nothing more.
func hangs(pieces ...gateway.Piece) func(context.Context, gateway.Question, func(gateway.Piece)) error {
	return func(ctx context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		for _, p := range pieces {
			say(p)
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

// fails says pieces and ends in an error.
func fails(err error, pieces ...gateway.Piece) func(context.Context, gateway.Question, func(gateway.Piece)) error {
	return func(_ context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		for _, p := range pieces {
			say(p)
		}
		return err
	}
}

func finished() gateway.Done {
	cost := 0.0123
	return gateway.Done{Finish: "stop", RunStatus: "finished", Usage: gateway.Usage{Prompt: 1834, Completion: 212, Cost: &cost}}
}

// chat is a model with the part of Bubble Tea that a test needs: commands run,
// and what they bring is taken in. It lives in a bubble, so time is the test's.
type chat struct {
	*testing.T
	*model
	script             *script
	msgs               chan tea.Msg
	cancel             context.CancelFunc
	quit               bool
	over               bool     // nothing is run any more
	copied             []string // what the terminal was asked to put into its clipboard
	system             []string // what the system was
	stored             []Conversation
	raw                []string // what the terminal was told besides the screen
	renamed, forgotten []string
}

// talk runs a test with a chat that has started.
func talk(t *testing.T, s *script, change func(*Config), test func(c *chat)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		c := &chat{T: t, script: s, msgs: make(chan tea.Msg, 10000), cancel: cancel}
		ids := 0
		cfg := Config{
			Endpoint: s, Now: time.Now, NewID: func() string { ids++; return fmt.Sprintf("%08d-id", ids) },
			Place:  Place{Title: "127.0.0.1:6449", Backend: "agent-server"},
			Recent: recentFake{c},
			Hints: Hints{
				Unreachable: []string{"ohgw serve"}, Locked: []string{"ohgw tokens create chat"},
				NoModels: []string{"ohgw profiles add NAME", "ohgw doctor"},
			},
			Copy: func(_ context.Context, s string) error { c.system = append(c.system, s); return nil },
			ReadImage: func(_ context.Context, path string) (Image, error) {
				if strings.Contains(path, "missing") {
					return Image{}, errors.New("there is no such file")
				}
				return Image{Name: path, DataURL: "data:image/png;base64,AA==", Size: 120_000}, nil
			},
			Save: func(_ context.Context, path, text string) (string, error) {
				c.system = append(c.system, text)
				return "/home/me/" + path, nil
			},
		}
		if change != nil {
			change(&cfg)
		}
		c.model = newModel(ctx, cfg)
		c.run(c.Init())
		c.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		test(c)
		cancel()
		c.over = true
		for range 40 {
			time.Sleep(time.Second)
			c.settle()
		}
	})
}

func (c *chat) run(cmd tea.Cmd) {
	if cmd == nil || c.over {
		return
	}
	go func() { c.msgs <- cmd() }()
}

// settle takes in all messages until nothing happens at this moment.
func (c *chat) settle() {
	for {
		synctest.Wait()
		select {
		case msg := <-c.msgs:
			c.take(msg)
		default:
			return
		}
	}
}

func (c *chat) take(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, cmd := range msg {
			c.run(cmd)
		}
	case tea.RawMsg:
		c.raw = append(c.raw, fmt.Sprint(msg.Msg))
	case tea.QuitMsg:
		c.quit = true
	default:
		if v := reflect.ValueOf(msg); v.Kind() == reflect.String && v.Type().Name() == "setClipboardMsg" {
			c.copied = append(c.copied, v.String())
			return
		}
		_, cmd := c.Update(msg)
		c.run(cmd)
		c.View()
	}
}

func (c *chat) send(msg tea.Msg) {
	c.take(msg)
	c.settle()
}

// wait lets time pass.
func (c *chat) wait(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(min(50*time.Millisecond, time.Until(end)))
		c.settle()
	}
}

// press presses keys by their names; other texts are typed.
func (c *chat) press(keys ...string) {
	for _, k := range keys {
		if msg, ok := named[k]; ok {
			c.send(msg)
			continue
		}
		for _, r := range k {
			c.send(tea.KeyPressMsg{Text: string(r), Code: r})
		}
	}
}

func ctrl(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Mod: tea.ModCtrl} }

var named = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"tab": {Code: tea.KeyTab}, "backspace": {Code: tea.KeyBackspace}, "pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown},
	"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "delete": {Code: tea.KeyDelete},
	"shift+enter": {Code: tea.KeyEnter, Mod: tea.ModShift}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "alt+up": {Code: tea.KeyUp, Mod: tea.ModAlt}, "alt+down": {Code: tea.KeyDown, Mod: tea.ModAlt}, "alt+y": {Code: 'y', Mod: tea.ModAlt},
	"ctrl+a": ctrl('a'), "ctrl+c": ctrl('c'), "ctrl+d": ctrl('d'), "ctrl+e": ctrl('e'), "ctrl+f": ctrl('f'), "ctrl+g": ctrl('g'), "ctrl+j": ctrl('j'),
	"ctrl+k": ctrl('k'), "ctrl+l": ctrl('l'), "ctrl+n": ctrl('n'), "ctrl+o": ctrl('o'), "ctrl+p": ctrl('p'), "ctrl+r": ctrl('r'), "ctrl+t": ctrl('t'),
	"ctrl+u": ctrl('u'), "ctrl+v": ctrl('v'), "ctrl+w": ctrl('w'), "ctrl+x": ctrl('x'), "ctrl+y": ctrl('y'), "ctrl+home": {Code: tea.KeyHome, Mod: tea.ModCtrl},
	"ctrl+end": {Code: tea.KeyEnd, Mod: tea.ModCtrl}, "shift+up": {Code: tea.KeyUp, Mod: tea.ModShift}, "shift+down": {Code: tea.KeyDown, Mod: tea.ModShift},
}

// ask writes a question and sends it.
func (c *chat) ask(text string) { c.press(text, "enter"); c.wait(100 * time.Millisecond) }

// screen is what is seen, without looks.
func (c *chat) screen() string {
	lines, _ := picture{c.model}.draw()
	for i := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(lines[i]), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func (c *chat) sees(texts ...string) {
	c.Helper()
	screen := c.screen()
	for _, text := range texts {
		if !strings.Contains(screen, text) {
			c.Errorf("%q is not on the screen:\n%s", text, screen)
		}
	}
}

func (c *chat) misses(texts ...string) {
	c.Helper()
	screen := c.screen()
	for _, text := range texts {
		if strings.Contains(screen, text) {
			c.Errorf("%q is on the screen:\n%s", text, screen)
		}
	}
}

type recentFake struct{ c *chat }

func (r recentFake) List(context.Context) ([]Conversation, error) {
	now := r.c.cfg.Now()
	return append([]Conversation{
		{ID: "3f2a9c11-x", Title: "Fix the flaky retry test", Model: "openhands_work", Used: now.Add(-3 * time.Hour)},
		{ID: "77aa77aa-x", Title: "Write the release notes", Model: "openhands", Used: now.Add(-72 * time.Hour)},
	}, r.c.stored...), nil
}

func (r recentFake) Remember(_ context.Context, c Conversation) error {
	r.c.stored = append(r.c.stored, c)
	return nil
}

func (r recentFake) Rename(_ context.Context, id, title string) error {
	r.c.renamed = append(r.c.renamed, id+": "+title)
	return nil
}

func (r recentFake) Forget(_ context.Context, id string) error {
	r.c.forgotten = append(r.c.forgotten, id)
	return nil
}
