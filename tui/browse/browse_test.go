package browse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// source is a list of 250 conversations in pages of 100, which notes what was done.
type source struct {
	done []string
	fail error
}

func (s *source) List(_ context.Context, page string) (Page, error) {
	first := 0
	_, _ = fmt.Sscan(page, &first)
	var p Page
	for i := first; i < min(first+100, 250); i++ {
		state := "asleep"
		if i%2 == 0 {
			state = "running"
		}
		p.Items = append(p.Items, Item{ID: fmt.Sprintf("id%03d", i), Title: fmt.Sprintf("Title\x1b[31m %03d", i), State: state, Repo: "acme/teapot", Used: time.Unix(0, 0)})
	}
	if first+100 < 250 {
		p.Next = fmt.Sprint(first + 100)
	}
	return p, s.fail
}

func (s *source) note(what string, it Item) (string, error) {
	s.done = append(s.done, what+" "+it.ID)
	return what + " is done", s.fail
}

func (s *source) Wake(_ context.Context, it Item) (string, error)   { return s.note("wake", it) }
func (s *source) Open(_ context.Context, it Item) (string, error)   { return s.note("open", it) }
func (s *source) Remove(_ context.Context, it Item) (string, error) { return s.note("remove", it) }
func (s *source) Send(_ context.Context, it Item, text string) (string, error) {
	return s.note("send "+text, it)
}

func (s *source) Trajectory(_ context.Context, it Item) (string, error) {
	return s.note("trajectory", it)
}

func (s *source) Workspace(_ context.Context, it Item) (string, error) {
	return s.note("workspace", it)
}

// screen is a model with a screen of this size, after its first page.
func screen(t *testing.T, s *source, width, height int) *model {
	t.Helper()
	m := newModel(t.Context(), Config{Source: s, Title: "work", NoColor: true, Now: func() time.Time { return time.Unix(3600*5, 0) }, Explain: error.Error})
	follow(m, m.Init())
	follow(m, func() tea.Msg { return tea.WindowSizeMsg{Width: width, Height: height} })
	return m
}

// follow runs commands until there are none.
func follow(m *model, cmd tea.Cmd) {
	for cmd != nil {
		msg := cmd()
		if _, quits := msg.(tea.QuitMsg); quits || msg == nil {
			return
		}
		_, cmd = m.Update(msg)
	}
}

// press types keys: names, or texts letter by letter.
func press(m *model, keys ...string) {
	codes := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "down": {Code: tea.KeyDown}, "end": {Code: tea.KeyEnd}, "backspace": {Code: tea.KeyBackspace},
	}
	for _, key := range keys {
		if msg, ok := codes[key]; ok {
			follow(m, m.key(msg))
			m.settle()
			continue
		}
		for _, r := range key {
			follow(m, m.key(tea.KeyPressMsg{Code: r, Text: string(r)}))
			m.settle()
		}
	}
}

func text(m *model) string { return strings.Join(m.lines(), "\n") }

func TestTheListFitsTheScreen(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{100, 24}, {40, 8}, {20, 3}, {200, 60}} {
		m := screen(t, &source{}, size[0], size[1])
		lines := m.lines()
		if len(lines) > max(size[1], around+1) {
			t.Errorf("size %v: %d lines", size, len(lines))
		}
		for _, line := range lines {
			if n := len([]rune(line)); n > size[0] {
				t.Errorf("size %v: a line has %d columns: %q", size, n, line)
			}
		}
		if strings.Contains(text(m), "\x1b") {
			t.Errorf("size %v: a title reached the terminal as it is", size)
		}
	}
	if m := screen(t, &source{}, 40, 8); strings.Contains(text(m), "acme") {
		t.Errorf("a narrow screen has the repository:\n%s", text(m))
	}
}

func TestPagesAreLoadedWhereTheListEnds(t *testing.T) {
	t.Parallel()
	m := screen(t, &source{}, 100, 23)
	if len(m.items) != 100 || !strings.Contains(text(m), "the newest conversations: 100, running: 50") {
		t.Fatalf("%d items:\n%s", len(m.items), m.lines()[0])
	}
	press(m, "nnnn")
	if m.at != 80 || len(m.items) != 200 {
		t.Errorf("after four pages the cursor is at %d of %d", m.at, len(m.items))
	}
	press(m, "end", "end")
	if m.at != 249 || !strings.Contains(text(m), "> Title 249") {
		t.Errorf("the end is %d of %d:\n%s", m.at, len(m.items), text(m))
	}
	press(m, "r")
	if len(m.items) != 100 {
		t.Errorf("refreshed, the list has %d", len(m.items))
	}
}

func TestAFilterLooksThroughAllPages(t *testing.T) {
	t.Parallel()
	m := screen(t, &source{}, 100, 24)
	press(m, "/", "title 24x", "backspace", "enter")
	if list := m.shown(); len(list) != 10 || !strings.Contains(text(m), "10 match") {
		t.Errorf("%d match:\n%s", len(list), text(m))
	}
	press(m, "esc")
	if len(m.shown()) != 250 {
		t.Errorf("without the filter there are %d", len(m.shown()))
	}
}

func TestKeysActOnTheConversationAtTheCursor(t *testing.T) {
	t.Parallel()
	s := &source{}
	m := screen(t, s, 100, 24)
	press(m, "down", "w", "o", "t", "a", "m", "hello q", "enter", "m", "no", "esc", "d", "n", "d", "y")
	want := "wake id001,open id001,trajectory id001,workspace id001,send hello q id001,remove id001"
	if got := strings.Join(s.done, ","); got != want {
		t.Errorf("done: %s\nwant: %s", got, want)
	}
	if strings.Contains(text(m), "Title 001") || !strings.Contains(text(m), "remove is done") {
		t.Errorf("the removed one is still there:\n%s", text(m))
	}
}

func TestAFailureIsShownAndTheListStays(t *testing.T) {
	t.Parallel()
	s := &source{}
	m := screen(t, s, 100, 24)
	s.fail = errors.New("the server\nis away")
	press(m, "r", "d", "y")
	if len(m.items) != 100 || !strings.Contains(text(m), "the server is away") {
		t.Errorf("%d items:\n%s", len(m.items), text(m))
	}
}
