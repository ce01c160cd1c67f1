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

// card is what has to be known or decided now, in a frame.
type card struct {
	look, title string
	lines       []string
	keys        string // what can be done
}

// card is what has to be known or decided now, or nil.
func (p picture) card() *card {
	m := p.m
	asked := m.granting.asked()
	switch {
	case asked != nil:
		return m.granting.card(m.looks, m.width, asked)
	case m.chat.Turn != nil:
		return nil
	case m.chat.Pending != nil:
		return confirmation(m.looks, m.width, m.chat.Pending)
	}
	return trouble(m.looks, m.width, m.chat.Link, m.cfg)
}

// confirmation asks whether the actions that wait may be done.
func confirmation(l looks, width int, actions []string) *card {
	c := &card{look: l.warn, title: "Confirm this action?"}
	for _, a := range actions {
		c.lines = append(c.lines, safe.Line(a))
	}
	var options []string
	for _, o := range choices {
		if width < 34 && o.do != accept && o.do != reject {
			continue // The keys work nevertheless.
		}
		look := l.good
		if o.do == reject {
			look = l.bad
		}
		options = append(options, paint(look, o.key)+" "+o.label(width))
	}
	c.keys = strings.Join(options, "   ")
	return c
}

// choice is an answer on the card of a confirmation.
type choice struct {
	do               action
	key, long, short string
}

// choices are the answers, in the order of the card.
var choices = []choice{
	{accept, "y", "yes, once", "once"},
	{acceptAlways, "a", "always the same", "always"},
	{acceptAll, "s", "the whole session", "all"},
	{reject, "n", "no", "no"},
}

// label is what the choice does, as long as there is room.
func (c choice) label(width int) string {
	if width >= 66 {
		return c.long
	}
	return c.short
}

// trouble reports what is wrong with the gateway, and what helps; nil if nothing is.
func trouble(l looks, width int, link session.Link, cfg Config) *card {
	key := paint(l.accent, "r")
	switch link.State {
	case session.Unreachable:
		return &card{
			look: l.bad, title: "Nothing answers " + cfg.Place.At(), lines: commandLines("Start it:", cfg.Hints.Unreachable),
			keys: paint(l.faint, fit(width, "Trying again automatically; what you type is kept.", "trying again automatically", "trying again")),
		}
	case session.Locked:
		return &card{
			look: l.bad, title: "The key was rejected",
			lines: append(cause(link), commandLines("Get a valid one:", cfg.Hints.Locked)...), keys: key + " try again",
		}
	case session.NoModels:
		return &card{
			look: l.warn, title: "No model yet", lines: commandLines("Do one of these:", cfg.Hints.NoModels),
			keys: key + " look again",
		}
	case session.Broken:
		return &card{look: l.bad, title: "The models cannot be listed", lines: cause(link), keys: key + " try again"}
	case session.Connecting, session.Ready:
	}
	return nil
}

func cause(link session.Link) []string {
	if link.Err == nil {
		return nil
	}
	return []string{wrap.Cut(human.Sentence(safe.Line(link.Err.Error())), session.MaxCause)}
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

// maxCard is the width of a card on a wide screen.
const maxCard = 78

// fit returns the first text that has room in a card, else the last.
func fit(width int, texts ...string) string {
	for _, t := range texts {
		if wrap.Width(t) <= min(width, maxCard)-4 {
			return t
		}
	}
	return texts[len(texts)-1]
}

// view draws the card in at most room lines; of what it says, the end goes
// first, and the frame before that.
func (c *card) view(l looks, width, room int) []string {
	framed := min(width, maxCard)
	inner := max(framed-4, 2)
	text := c.wrapped(inner)
	if room < 5 || framed < 24 {
		return c.bare(text, width, room)
	}
	if most := room - 3; len(text) > most {
		text = append(text[:most-1], "…")
	}
	side := paint(c.look, "│")
	head := wrap.Cut(c.title, inner-2)
	out := []string{paint(c.look, "╭─ ") + paint(l.strong, head) + paint(c.look, " "+strings.Repeat("─", framed-5-wrap.Width(head))+"╮")}
	for _, line := range text {
		out = append(out, side+" "+wrap.Pad(line, inner)+" "+side)
	}
	pad := strings.Repeat(" ", max(0, inner-visibleWidth(c.keys)))
	out = append(out, side+" "+c.keys+pad+" "+side)
	return append(out, paint(c.look, "╰"+strings.Repeat("─", framed-2)+"╯"))
}

// wrapped are the lines of the card in width; what is indented stays so.
func (c *card) wrapped(width int) []string {
	var text []string
	for _, l := range c.lines {
		indent := l[:len(l)-len(strings.TrimLeft(l, " "))]
		for _, part := range wrap.Text(strings.TrimLeft(l, " "), max(width-len(indent), 2)) {
			text = append(text, indent+part)
		}
	}
	return text
}

// bare draws a card without a frame, for small terminals. What it is about comes
// before its title.
func (c *card) bare(text []string, width, room int) []string {
	var out []string
	if commands := slices.DeleteFunc(slices.Clone(c.lines), func(l string) bool { return l[0] != ' ' }); len(commands) > 0 && room <= 4 {
		text = commands
		for i := range text {
			text[i] = wrap.Cut(strings.TrimSpace(text[i]), width)
		}
	}
	if room > 3 || len(text) == 0 {
		out = append(out, wrap.Cut(c.title, width))
	}
	out = append(out, text...)
	if most := max(room-1, 0); len(out) > most {
		rest := len(out) - most
		if out = out[:most]; most > 0 {
			more := " +" + strconv.Itoa(rest) + " more"
			out[most-1] = wrap.Cut(out[most-1], max(width-len(more), 1)) + more
		}
	}
	if room > 0 {
		out = append(out, c.keys)
	}
	return out
}
