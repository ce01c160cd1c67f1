package browse

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/wrap"
)

// around is how many lines are not the list's: the title, and two below.
const around = 3

// narrow is the width below which a line has the title and the state only.
const narrow = 64

func (m *model) rows() int { return max(1, m.height-around) }

// View draws the screen.
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	v.KeyboardEnhancements.ReportAlternateKeys = true // the positions of keys
	v.WindowTitle = "ohgw · " + m.cfg.Title
	return v
}

func (m *model) lines() []string {
	list := m.shown()
	lines := []string{m.heading(list)}
	for i := m.first; i < len(list) && i < m.first+m.rows(); i++ {
		mark := "  "
		if i == m.at {
			mark = "> "
		}
		text := wrap.Cut(mark+m.line(list[i], m.width-2), m.width)
		if i == m.at && !m.cfg.NoColor {
			text = "\x1b[7m" + wrap.Pad(text, m.width) + "\x1b[0m"
		}
		lines = append(lines, text)
	}
	for len(lines) < m.height-2 {
		lines = append(lines, "")
	}
	return append(lines, wrap.Cut(m.status(), m.width), wrap.Cut(m.help(), m.width))
}

func (m *model) heading(list []Item) string {
	active := 0
	for _, it := range m.items {
		if it.State == "running" {
			active++
		}
	}
	text := fmt.Sprintf("%s · conversations: %d, running: %d", m.cfg.Title, len(m.items), active)
	if m.next != "" {
		text = fmt.Sprintf("%s · the newest conversations: %d, running: %d", m.cfg.Title, len(m.items), active)
	}
	if m.filter != "" {
		text += fmt.Sprintf(" · %d match", len(list))
	}
	if m.loading {
		text += " · …"
	}
	return wrap.Cut(text, m.width)
}

// line is a conversation in one line.
func (m *model) line(it Item, width int) string {
	const state, repo, age = 9, 22, 11
	title := width - state - 2
	if width < narrow-2 {
		return wrap.Pad(wrap.Cut(titleOf(it), title), title) + "  " + safe.Line(it.State)
	}
	title -= repo + age + 4
	return wrap.Pad(wrap.Cut(titleOf(it), title), title) + "  " + wrap.Pad(safe.Line(it.State), state) + "  " +
		wrap.Pad(wrap.Cut(cmp.Or(safe.Line(it.Repo), "-"), repo), repo) + "  " + m.age(it.Used)
}

func titleOf(it Item) string { return cmp.Or(safe.Line(it.Title), it.ID) }

// age is how long ago something was.
func (m *model) age(at time.Time) string {
	d := m.cfg.Now().Sub(at)
	switch {
	case at.IsZero():
		return "-"
	case d < time.Hour:
		return fmt.Sprintf("%d min", max(int(d.Minutes()), 0))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// status is the line above the help.
func (m *model) status() string {
	switch m.mode {
	case filtering:
		return "Filter: " + m.filter + "_"
	case writing:
		return "Message to " + wrap.Cut(titleOf(m.confirm), 20) + ": " + m.typed + "_"
	case confirming:
		return "Remove " + titleOf(m.confirm) + " with its files there? y/N"
	}
	if m.note == "" && m.filter != "" {
		return "Filter: " + m.filter
	}
	return safe.Line(m.note)
}

func (m *model) help() string {
	switch m.mode {
	case filtering:
		return "Enter keeps the filter · Esc clears it"
	case writing:
		return "Enter sends · Esc cancels"
	case confirming:
		return "y removes · any other key does not"
	}
	return "/ filter o open m message w wake t trajectory a workspace d delete r refresh n/p page q quit"
}
