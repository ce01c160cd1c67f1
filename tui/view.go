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
	lines, cursor := picture{m}.draw()
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

// picture draws the model. It changes nothing of it but the size of the transcript.
type picture struct{ m *model }

// arrange sets how much of the screen the transcript has.
func (p picture) arrange() screen {
	s := p.layout()
	p.m.chat.Log.SetSize(p.m.width, s.body)
	return s
}

func (p picture) draw() ([]string, *tea.Cursor) {
	s := p.arrange()
	lines := p.body(s)
	first := len(lines)
	if p.m.width < narrow {
		first = 0
	}
	lines = append(lines, s.above...)
	row := len(lines) + s.y
	lines = append(lines, s.input...)
	if s.status != "" {
		lines = append(lines, s.status)
	}
	for i, l := range lines[first:] {
		lines[first+i] = ansi.Truncate(l, p.m.width, "")
	}
	if !s.hasInput {
		return lines[:min(len(lines), p.m.height)], nil
	}
	return lines[:min(len(lines), p.m.height)], tea.NewCursor(min(s.x, p.m.width-1), min(row, p.m.height-1))
}

// body is the transcript, with what is open over its end.
func (p picture) body(s screen) []string {
	if s.body == 0 {
		return nil
	}
	lines := p.m.chat.Log.View()
	if p.m.chat.Log.Empty() {
		lines = p.m.welcome.view(p.m.looks, p.m.chat.ModelName(), where(p.m.cfg.Place), s.width, s.body)
	}
	over := p.over(s)
	over = over[:min(len(over), len(lines))]
	return append(lines[:len(lines)-len(over)], over...)
}

// over is what is open over the end of the transcript.
func (p picture) over(s screen) []string {
	if p.m.open != nil {
		return p.m.open.view(p.m.looks, s.width, s.body)
	}
	return p.m.menu.view(p.m.looks, s.width, s.body)
}

func (p picture) layout() screen {
	s := screen{width: p.m.width}
	room := p.m.height
	if room >= 4 {
		s.status = p.m.status.line(p.m.looks, p.m.width)
		room--
	}
	asks, ok := p.m.open.(prompter)
	if ok {
		line, x := asks.prompt(p.m.looks, s.width)
		s.input, s.x = []string{line}, x
	} else {
		p.inputLines(&s, room)
	}
	s.hasInput = p.m.open == nil || ok
	room -= len(s.input)
	kept := min(3, room/2)
	if p.m.chat.Log.Empty() {
		kept = 0 // What has to be done comes before a welcome.
	}
	s.above = p.above(max(room-kept, 0))
	room -= len(s.above)
	s.body = max(room, 0)
	return s
}

// inputLines draws what is written: between rules, if there is room for them.
func (p picture) inputLines(s *screen, room int) {
	lines, y, x := p.m.input.view(p.m.looks, s.width, max(1, min(room/3, 10)), p.placeholder())
	s.y, s.x = y, x
	if room < 9 {
		s.input = lines
		return
	}
	s.input = append([]string{p.topRule(s.width)}, lines...)
	s.input = append(s.input, rule(p.m.looks.faint, "", s.width))
	s.y++
}

// topRule is the line above the input; it reports that there is more below.
func (p picture) topRule(width int) string {
	if !p.m.chat.Log.Following() {
		return rule(p.m.looks.faint, paint(p.m.looks.faint, "↓ more below · Esc"), width)
	}
	if p.m.vim != nil && p.m.vim.Normal() {
		return rule(p.m.looks.faint, paint(p.m.looks.accent, "NORMAL"), width)
	}
	return rule(p.m.looks.faint, "", width)
}

func (p picture) placeholder() string {
	asked := p.m.granting.asked()
	switch {
	case asked != nil:
		return "o, c, w or n, or ← → and Enter"
	case p.m.chat.Pending != nil && p.m.chat.Turn == nil:
		return "y or n, or a new instruction"
	case p.m.chat.Turn != nil:
		return "type the next question, or press Esc to stop"
	case len(p.m.chat.Images) > 0:
		return "ask about the picture"
	case p.m.chat.Log.LastAnswer() == nil:
		return "ask the agent to do something"
	}
	return "ask something else"
}

// above draws what stands between the transcript and the input. What is too much for
// room is cut at the top.
func (p picture) above(room int) []string {
	var lines []string
	t := p.m.status.activity(p.m.looks, p.m.width)
	if c := p.card(); c != nil {
		switch {
		case room <= 3:
			t = "" // What is to be decided comes first.
		case t != "":
			room--
		}
		lines = c.view(p.m.looks, p.m.width, room)
	}
	if t != "" {
		if p.m.height >= 12 && len(lines) == 0 {
			lines = append(lines, "")
		}
		lines = append(lines, t)
	}
	for i, o := range p.m.chat.Queue {
		if i == 3 {
			break
		}
		lines = append(lines, paint(p.m.looks.faint, wrap.Cut("  then: "+safe.Line(o.Shown), p.m.width)))
	}
	for _, img := range p.m.chat.Images {
		lines = append(lines, paint(p.m.looks.accent, "  + ")+wrap.Cut(img.Label(), p.m.width-4))
	}
	for _, o := range p.m.chat.Commands.Outputs {
		lines = append(lines, paint(p.m.looks.accent, "  + ")+wrap.Cut(o.Label(), p.m.width-4))
	}
	if len(lines) > room {
		lines = lines[len(lines)-room:]
	}
	return lines
}
