package tui

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/wrap"
)

// cardView is what has to be known or decided now, in a frame; nil if nothing.
func (m *model) cardView(room int) []string {
	if m.chat.Pending != nil && m.chat.Turn == nil {
		lines := make([]string, 0, len(m.chat.Pending))
		for _, c := range m.chat.Pending {
			lines = append(lines, safe.Line(c))
		}
		keys := paint(m.looks.good, "y") + " accept   " + paint(m.looks.bad, "n") + " refuse"
		if m.width >= 60 {
			keys += "   " + paint(m.looks.faint, "or type a new instruction")
		}
		return m.frame(m.looks.warn, "Confirm this action?", lines, keys, room)
	}
	if m.chat.Turn != nil {
		return nil
	}
	switch m.chat.Link.State {
	case session.Unreachable:
		return m.frame(m.looks.bad, "Nothing answers "+m.cfg.Place.At(), commandLines("Start it:", m.cfg.Hints.Unreachable),
			paint(m.looks.faint, m.fit("Trying again automatically; what you type is kept.", "trying again automatically", "trying again")), room)
	case session.Locked:
		return m.frame(m.looks.bad, "The key was rejected", append(m.linkCause(), commandLines("Get a valid one:", m.cfg.Hints.Locked)...),
			paint(m.looks.accent, "r")+" try again", room)
	case session.NoModels:
		return m.frame(m.looks.warn, "No model yet", commandLines("Do one of these:", m.cfg.Hints.NoModels),
			paint(m.looks.accent, "r")+" look again", room)
	case session.Broken:
		return m.frame(m.looks.bad, "The models cannot be listed", m.linkCause(), paint(m.looks.accent, "r")+" try again", room)
	case session.Connecting, session.Ready:
	}
	return nil
}

func (m *model) linkCause() []string {
	if m.chat.Link.Err == nil {
		return nil
	}
	return []string{wrap.Cut(human.Sentence(safe.Line(m.chat.Link.Err.Error())), session.MaxCause)}
}

func commandLines(head string, commands []string) []string {
	if len(commands) == 0 {
		return nil
	}
	lines := []string{head}
	for _, c := range commands {
		lines = append(lines, "  "+c)
	}
	return lines
}

// frame draws a card in at most room lines; of what it says, the end goes
// first, and the frame before that.
func (m *model) frame(look, title string, lines []string, keys string, room int) []string {
	width := min(m.width, 78)
	inner := max(width-4, 2)
	var text []string
	for _, l := range lines {
		indent := l[:len(l)-len(strings.TrimLeft(l, " "))]
		for _, part := range wrap.Text(strings.TrimLeft(l, " "), max(inner-len(indent), 2)) {
			text = append(text, indent+part)
		}
	}
	if room < 5 || width < 24 {
		return m.bare(title, lines, text, keys, room)
	}
	if most := room - 3; len(text) > most {
		text = append(text[:most-1], "…")
	}
	side := paint(look, "│")
	head := wrap.Cut(title, inner-2)
	out := []string{paint(look, "╭─ ") + paint(m.looks.strong, head) + paint(look, " "+strings.Repeat("─", width-5-wrap.Width(head))+"╮")}
	for _, l := range text {
		out = append(out, side+" "+wrap.Pad(l, inner)+" "+side)
	}
	pad := strings.Repeat(" ", max(0, inner-visibleWidth(keys)))
	out = append(out, side+" "+keys+pad+" "+side)
	return append(out, paint(look, "╰"+strings.Repeat("─", width-2)+"╯"))
}

// fit gives the first text that has room in a card, else the last.
func (m *model) fit(texts ...string) string {
	for _, t := range texts {
		if wrap.Width(t) <= min(m.width, 78)-4 {
			return t
		}
	}
	return texts[len(texts)-1]
}

// bare is a card without a frame, for small terminals. What it is about comes
// before its title.
func (m *model) bare(title string, lines, text []string, keys string, room int) []string {
	var out []string
	if commands := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return l[0] != ' ' }); len(commands) > 0 && room <= 4 {
		text = commands
		for i := range text {
			text[i] = wrap.Cut(strings.TrimSpace(text[i]), m.width)
		}
	}
	if room > 3 || len(text) == 0 {
		out = append(out, wrap.Cut(title, m.width))
	}
	out = append(out, text...)
	if most := max(room-1, 0); len(out) > most {
		rest := len(out) - most
		if out = out[:most]; most > 0 {
			more := " +" + strconv.Itoa(rest) + " more"
			out[most-1] = wrap.Cut(out[most-1], max(m.width-len(more), 1)) + more
		}
	}
	if room > 0 {
		out = append(out, keys)
	}
	return out
}

// welcome fills an empty transcript.
func (m *model) welcome(width, height int) []string {
	l := m.looks
	var lines []string
	add := func(look, s string) {
		for _, part := range wrap.Text(s, max(width-4, 4)) {
			lines = append(lines, paint(look, part))
		}
	}
	lines = append(lines, paint(l.picked, "ohgw")+paint(l.strong, " chat"), "")
	add("", m.chat.ModelName())
	if height > 6 {
		add(l.faint, m.where())
	}
	for _, n := range m.notices {
		lines = append(lines, "")
		add(l.faint, n)
	}
	if height >= len(lines)+8 {
		lines = append(lines, "")
		for _, k := range [][2]string{
			{"Enter", "send"}, {"Ctrl+J", "new line"}, {"Ctrl+P", "pick a model"}, {"Ctrl+R", "resume a conversation"}, {"?", "all keys"},
		} {
			lines = append(lines, paint(l.accent, wrap.Pad(k[0], 8))+paint(l.faint, wrap.Cut(k[1], max(width-12, 1))))
		}
	}
	out := make([]string, max((height-len(lines))/3, 0), height)
	for _, line := range lines {
		if line != "" {
			line = "  " + line
		}
		out = append(out, line)
	}
	for len(out) < height {
		out = append(out, "")
	}
	return out[:height]
}
