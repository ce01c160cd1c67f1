package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/wrap"
)

// narrow is a width below which marks and margins may be wider than the screen.
const narrow = 24

// screen is the layout: what stands where follows from the size and the state.
type screen struct {
	width    int
	body     int      // lines of the transcript
	above    []string // card, what moves, what waits; between transcript and input
	input    []string // with its rules
	y, x     int      // of the cursor, in input
	status   string   // "" when there is no room
	hasInput bool
}

// View draws the screen. It is never wider or higher than the terminal.
func (m *model) View() tea.View {
	lines, cursor := m.draw()
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.Cursor = cursor
	v.KeyboardEnhancements.ReportAlternateKeys = true // the positions of keys
	v.ReportFocus = m.cfg.Notify
	v.WindowTitle = "ohgw"
	if m.chat.Convo.Title != "" {
		v.WindowTitle = "ohgw · " + session.Title(m.chat.Convo.Title)
	}
	if m.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

// arrange sets how much of the screen the transcript has.
func (m *model) arrange() screen {
	s := m.layout()
	m.chat.Log.SetSize(m.width, s.body)
	return s
}

func (m *model) draw() ([]string, *tea.Cursor) {
	s := m.arrange()
	lines := m.body(s)
	first := len(lines)
	if m.width < narrow {
		first = 0
	}
	lines = append(lines, s.above...)
	row := len(lines) + s.y
	lines = append(lines, s.input...)
	if s.status != "" {
		lines = append(lines, s.status)
	}
	for i, l := range lines[first:] {
		lines[first+i] = ansi.Truncate(l, m.width, "")
	}
	if !s.hasInput {
		return lines[:min(len(lines), m.height)], nil
	}
	return lines[:min(len(lines), m.height)], tea.NewCursor(min(s.x, m.width-1), min(row, m.height-1))
}

// body is the transcript, with what is open over its end.
func (m *model) body(s screen) []string {
	if s.body == 0 {
		return nil
	}
	lines := m.chat.Log.View()
	if m.chat.Log.Empty() {
		lines = m.welcome.view(m.looks, m.chat.ModelName(), where(m.cfg.Place), s.width, s.body)
	}
	over := m.over(s)
	over = over[:min(len(over), len(lines))]
	return append(lines[:len(lines)-len(over)], over...)
}

// over is what is open over the end of the transcript.
func (m *model) over(s screen) []string {
	if m.open != nil {
		return m.open.view(m.looks, s.width, s.body)
	}
	return m.menu.view(m.looks, s.width, s.body)
}

func (m *model) layout() screen {
	s := screen{width: m.width}
	room := m.height
	if room >= 4 {
		s.status = m.status.line(m.looks, m.width)
		room--
	}
	p, ok := m.open.(prompter)
	if ok {
		line, x := p.prompt(m.looks, s.width)
		s.input, s.x = []string{line}, x
	} else {
		m.inputLines(&s, room)
	}
	s.hasInput = m.open == nil || ok
	room -= len(s.input)
	kept := min(3, room/2)
	if m.chat.Log.Empty() {
		kept = 0 // What has to be done comes before a welcome.
	}
	s.above = m.above(max(room-kept, 0))
	room -= len(s.above)
	s.body = max(room, 0)
	return s
}

// inputLines draws what is written: between rules, if there is room for them.
func (m *model) inputLines(s *screen, room int) {
	lines, y, x := m.input.view(m.looks, s.width, max(1, min(room/3, 10)), m.placeholder())
	s.y, s.x = y, x
	if room < 9 {
		s.input = lines
		return
	}
	s.input = append([]string{m.topRule(s.width)}, lines...)
	s.input = append(s.input, rule(m.looks.faint, "", s.width))
	s.y++
}

// topRule is the line above the input; it reports that there is more below.
func (m *model) topRule(width int) string {
	if !m.chat.Log.Following() {
		return rule(m.looks.faint, paint(m.looks.faint, "↓ more below · Esc"), width)
	}
	if m.vim != nil && m.vim.Normal() {
		return rule(m.looks.faint, paint(m.looks.accent, "NORMAL"), width)
	}
	return rule(m.looks.faint, "", width)
}

func (m *model) placeholder() string {
	asked, _ := m.asked()
	switch {
	case asked != nil:
		return "o, c, w or n, or ← → and Enter"
	case m.chat.Pending != nil && m.chat.Turn == nil:
		return "y or n, or a new instruction"
	case m.chat.Turn != nil:
		return "type the next question, or press Esc to stop"
	case len(m.chat.Images) > 0:
		return "ask about the picture"
	case m.chat.Log.LastAnswer() == nil:
		return "ask the agent to do something"
	}
	return "ask something else"
}

// above is what stands between the transcript and the input.
func (m *model) above(room int) []string {
	var lines []string
	t := m.status.activity(m.looks, m.width)
	if c := m.card(); c != nil {
		switch {
		case room <= 3:
			t = "" // What is to be decided comes first.
		case t != "":
			room--
		}
		lines = c.view(m.looks, m.width, room)
	}
	if t != "" {
		if m.height >= 12 && len(lines) == 0 {
			lines = append(lines, "")
		}
		lines = append(lines, t)
	}
	for i, o := range m.chat.Queue {
		if i == 3 {
			break
		}
		lines = append(lines, paint(m.looks.faint, wrap.Cut("  then: "+safe.Line(o.Shown), m.width)))
	}
	for _, img := range m.chat.Images {
		lines = append(lines, paint(m.looks.accent, "  + ")+wrap.Cut(img.Label(), m.width-4))
	}
	for _, o := range m.chat.Commands.Outputs {
		lines = append(lines, paint(m.looks.accent, "  + ")+wrap.Cut(o.Label(), m.width-4))
	}
	if len(lines) > room {
		lines = lines[len(lines)-room:]
	}
	return lines
}
