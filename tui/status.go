package tui

import (
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/wrap"
)

// status is the last line: what is asked, where, and how that is.
func (m *model) status() string {
	state, look := m.linkWord()
	right := state
	if m.tokens[0]+m.tokens[1] > 0 && m.width >= 50 {
		right = short(m.tokens[0]) + " → " + short(m.tokens[1]) + "  " + state
	}
	if m.flash != "" {
		return paint(m.looks.accent, wrap.Cut(" "+m.flash, m.width))
	}
	room := m.width - wrap.Width(right) - 4
	if room < 8 {
		return paint(look, wrap.Cut(" "+state, m.width))
	}
	left := wrap.Cut(m.modelName(), room)
	for _, variants := range [][]string{{shortID(m.convo.ID)}, {m.where(), m.shortPlace()}} {
		for _, p := range variants {
			if p != "" && wrap.Width(left)+3+wrap.Width(p) <= room {
				left += " · " + p
				break
			}
		}
	}
	gap := strings.Repeat(" ", m.width-2-wrap.Width(left)-wrap.Width(right))
	return " " + paint(m.looks.faint, left) + gap + paint(m.looks.faint, strings.TrimSuffix(right, state)) + paint(look, state)
}

// where is the place with what is behind it.
func (m *model) where() string {
	s := safe.Line(m.cfg.Place.Title)
	if m.cfg.Place.Backend != "" {
		s += " (" + safe.Line(m.cfg.Place.Backend) + ")"
	}
	if m.cfg.Place.Demo {
		s += " · demo"
	}
	return s
}

// shortPlace is what is behind the place, or the place.
func (m *model) shortPlace() string {
	if m.cfg.Place.Backend != "" {
		return safe.Line(m.cfg.Place.Backend)
	}
	return safe.Line(m.cfg.Place.Title)
}

// linkWord is the connection in a word, with a mark that needs no colour.
func (m *model) linkWord() (word, look string) {
	switch {
	case m.turn != nil && m.turn.lost > 0:
		return "◌ reconnecting", m.looks.warn
	case m.turn != nil:
		return "● at work", m.looks.accent
	}
	if m.card != nil && m.link.state == ready {
		return "◆ waits for you", m.looks.warn
	}
	switch m.link.state {
	case connecting:
		return "◌ connecting", m.looks.faint
	case ready:
		return "● ready", m.looks.good
	case unreachable:
		return "○ unreachable", m.looks.bad
	case locked:
		return "○ key refused", m.looks.bad
	case noModels:
		return "○ no models", m.looks.warn
	case broken:
	}
	return "○ trouble", m.looks.bad
}

// activity is the line about what goes on: a spinner, what is done and since
// when. Silence says what it waits for.
func (m *model) activity() string {
	now := m.cfg.Now()
	if m.turn == nil {
		if m.link.state == connecting && now.Sub(m.link.since) >= hungAfter {
			return m.moving("waiting for "+m.place()+" to list its models", duration(now.Sub(m.link.since)))
		}
		return ""
	}
	t := m.turn
	silent := now.Sub(t.heard)
	var what string
	switch {
	case t.lost > 0:
		what = "connection lost, finding it again (attempt " + strconv.Itoa(t.lost) + ")"
	case !t.taken && silent >= hungAfter:
		what = "waiting for " + m.place() + " to take the question"
	case !t.taken:
		what = "asking"
	case t.queued == 1:
		what = "waiting in the queue, 1 question before this one"
	case t.queued > 1:
		what = "waiting in the queue, " + strconv.Itoa(t.queued) + " questions before this one"
	case silent >= hungAfter:
		what = "nothing heard for " + duration(silent) + ", waiting for " + m.place()
	case t.answer.Current() != "" && t.answer.Working():
		what = t.answer.Current()
	case t.answer.Blank():
		what = "thinking"
	default:
		what = "writing"
	}
	return m.moving(what, m.elapsed(t)+" · Esc stops")
}

// spinner is drawn one after the other.
var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func (m *model) moving(what, since string) string {
	room := m.width - 4 - wrap.Width(since)
	if room < 6 {
		room, since = m.width-3, ""
	}
	return paint(m.looks.accent, spinner[m.ticks%len(spinner)]) + " " + wrap.Cut(what, room) + "  " + paint(m.looks.faint, since)
}

// findLine is the search in place of the input.
func (m *model) findLine() string {
	q := m.find.query.Shown()
	var found string
	switch {
	case q == "":
		found = "what to look for"
	case !m.find.found:
		found = "not found"
	case m.find.count == 1:
		found = "in 1 message"
	default:
		found = "in " + strconv.Itoa(m.find.count) + " messages"
	}
	tail := found + " · ↑ ↓ next · Esc"
	return paint(m.looks.accent, "/") + wrap.Cut(q, max(m.width-wrap.Width(tail)-4, 1)) + "  " + paint(m.looks.faint, tail)
}
