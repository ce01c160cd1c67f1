package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"github.com/ohgw/ohgw/tui/graphics"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/transcript"
)

const (
	// maxShotCols and maxShotRows are the size of a picture in the transcript.
	maxShotCols = 60
	maxShotRows = 16
	// drawAfter is the time in which the screen has made room for a picture.
	drawAfter = 150 * time.Millisecond
)

// The messages about pictures.
type (
	shotMsg struct { // a picture can be shown in the transcript
		id       string
		sequence string
		lines    []string
	}
	viewMsg struct { // a picture was read, to be shown by itself
		about   string
		picture *graphics.Picture
		err     error
	}
	drawMsg struct{ v *viewer } // the screen has made room for it
)

// shots are the screenshots of the agent's browser. A terminal with the protocol of kitty shows
// them in the transcript, where characters stand for their parts. Other terminals draw at a
// place of the screen that is then not the transcript's: [viewer].
type shots struct {
	chat *session.Session
	by   graphics.Protocol
	file func(path string) ([]byte, error) // nil: they are elsewhere
	todo []transcript.Action               // that are not in the transcript yet
}

func newShots(cfg Config, chat *session.Session) shots {
	s := shots{chat: chat, file: cfg.ReadPicture}
	if !cfg.NoColor { // in the transcript, a colour says which picture it is
		s.by = graphics.Of(cfg.Environ)
	}
	return s
}

// ask asks the terminal what the variables do not say.
func (s *shots) ask() tea.Cmd {
	if s.file == nil || s.by != graphics.None {
		return nil
	}
	return tea.Raw(ansi.RequestPrimaryDeviceAttributes)
}

// came notes an action that has a picture.
func (s *shots) came(a transcript.Action) {
	if a.Picture != nil && s.file != nil && s.by != graphics.None {
		s.todo = append(s.todo, a)
	}
}

// read reads the pictures that came. It is called after each update.
func (s *shots) read(width int) tea.Cmd {
	todo := s.todo
	s.todo = nil
	var cmds []tea.Cmd
	for _, a := range todo {
		if s.by != graphics.Kitty {
			s.show(a.ID, []string{"▣ " + a.Picture.About + " · /picture shows it"})
			continue
		}
		file, cols := s.file, min(maxShotCols, width-10)
		cmds = append(cmds, func() tea.Msg {
			p, err := readPicture(file, a.Picture.Path)
			if err != nil {
				return nil // the line about the picture stays
			}
			sequence, lines, err := p.Upload(cols, maxShotRows)
			if err != nil {
				return nil
			}
			return shotMsg{a.ID, sequence, lines}
		})
	}
	return tea.Batch(cmds...)
}

// show has lines stand for a picture in the transcript.
func (s *shots) show(id string, lines []string) {
	for _, m := range s.chat.Log.Messages() {
		if a, ok := m.(*transcript.Answer); ok {
			a.Show(id, lines)
		}
	}
}

// last is the latest picture of the conversation, or nil.
func (s *shots) last() (found *transcript.Picture) {
	for _, m := range s.chat.Log.Messages() {
		if a, ok := m.(*transcript.Answer); ok {
			if p := a.LastPicture(); p != nil {
				found = p
			}
		}
	}
	return found
}

func readPicture(file func(string) ([]byte, error), path string) (*graphics.Picture, error) {
	data, err := file(path)
	if err != nil {
		return nil, err
	}
	return graphics.Read(data)
}

// runPicture shows the latest picture by itself.
func runPicture(m *model, _ string) (tea.Cmd, bool) {
	p, file := m.shots.last(), m.shots.file
	switch {
	case p == nil:
		return m.Say("there is no screenshot in this conversation"), true
	case file == nil:
		return m.Say("the screenshot is on the machine of the agent: " + safe.Line(p.Path)), true
	case m.shots.by == graphics.None:
		return m.Say("this terminal shows no pictures; the file is " + safe.Line(p.Path)), true
	}
	return func() tea.Msg {
		read, err := readPicture(file, p.Path)
		return viewMsg{p.About, read, err}
	}, true
}

// pictured takes in what is known about pictures.
func (m *model) pictured(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case uv.PrimaryDeviceAttributesEvent:
		if m.shots.by == graphics.None && graphics.HasSixel(msg) {
			m.shots.by = graphics.Sixel
		}
	case shotMsg:
		m.shots.show(msg.id, msg.lines)
		return tea.Raw(msg.sequence)
	case viewMsg:
		if msg.err != nil {
			if _, ok := m.open.(*viewer); ok {
				m.open = nil
			}
			return m.Say("the screenshot cannot be shown: " + safe.Line(msg.err.Error()))
		}
		v := &viewer{by: m.shots.by, about: msg.about, picture: msg.picture}
		m.open = v
		return after(drawAfter, drawMsg{v})
	case drawMsg:
		if m.open == msg.v {
			return msg.v.draw()
		}
	}
	return nil
}

// viewer is a picture in the place of the transcript. What it leaves empty is not drawn again
// by Bubble Tea, so the picture stays there until the screen is cleared.
type viewer struct {
	by         graphics.Protocol
	about      string
	picture    *graphics.Picture
	cols, rows int // of its place, as it was drawn last
}

// view implements [component].
func (v *viewer) view(l looks, width, height int) []string {
	v.cols, v.rows = width, height-1
	lines := make([]string, max(height, 1))
	lines[0] = rule(l.accent, paint(l.strong, v.about)+paint(l.faint, "  any key closes"), width)
	return lines
}

// draw draws the picture below the title. The cursor stays where it was.
func (v *viewer) draw() tea.Cmd {
	cols, rows := v.cols-1, v.rows-1
	return func() tea.Msg {
		sequence, err := v.picture.Draw(v.by, cols, rows)
		if err != nil {
			return viewMsg{err: err}
		}
		const second = 2
		return tea.RawMsg{Msg: ansi.SaveCursor + ansi.CursorPosition(1, second) + sequence + ansi.RestoreCursor}
	}
}

// gone takes the picture off the screen.
func (v *viewer) gone() tea.Cmd {
	if sequence := graphics.Clear(v.by); sequence != "" {
		return tea.Batch(tea.Raw(sequence), tea.ClearScreen)
	}
	return tea.ClearScreen
}

// key implements [component].
func (v *viewer) key(tea.KeyPressMsg) (tea.Cmd, bool) { return nil, true }

// paste implements [component].
func (v *viewer) paste(string) bool { return true }

// scroll implements [component].
func (v *viewer) scroll(int) bool { return true }
