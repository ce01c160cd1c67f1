package tui

import (
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/wrap"
)

// status is the last line: what is asked, where, and how that is.
func (m *model) status() string {
	state, look := m.linkWord()
	right := state
	if m.chat.Tokens[0]+m.chat.Tokens[1] > 0 && m.width >= 50 {
		right = human.Short(m.chat.Tokens[0]) + " → " + human.Short(m.chat.Tokens[1]) + "  " + state
	}
	if m.flash != "" {
		return paint(m.looks.accent, wrap.Cut(" "+m.flash, m.width))
	}
	room := m.width - wrap.Width(right) - 4
	if room < 8 {
		return paint(look, wrap.Cut(" "+state, m.width))
	}
	left := wrap.Cut(m.chat.ModelName(), room)
	for _, variants := range [][]string{{shortID(m.chat.Convo.ID)}, {m.where(), m.shortPlace()}} {
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
	case m.chat.Turn != nil && m.chat.Turn.Lost > 0:
		return "◌ reconnecting", m.looks.warn
	case m.chat.Turn != nil:
		return "● at work", m.looks.accent
	}
	if m.chat.Pending != nil && m.chat.Link.State == session.Ready {
		return "◆ confirm?", m.looks.warn
	}
	switch m.chat.Link.State {
	case session.Connecting:
		return "◌ connecting", m.looks.faint
	case session.Ready:
		return "● ready", m.looks.good
	case session.Unreachable:
		return "○ unreachable", m.looks.bad
	case session.Locked:
		return "○ key rejected", m.looks.bad
	case session.NoModels:
		return "○ no models", m.looks.warn
	case session.Broken:
	}
	return "○ trouble", m.looks.bad
}

// activity is the line about what goes on: a spinner, what is done and since
// when. Silence says what it waits for.
func (m *model) activity() string {
	now := m.cfg.Now()
	if m.chat.Turn == nil {
		if m.chat.Link.State == session.Connecting && now.Sub(m.chat.Link.Since) >= hungAfter {
			return m.moving("waiting for "+m.cfg.Place.Name()+" to list its models", human.Duration(now.Sub(m.chat.Link.Since)))
		}
		return ""
	}
	t := m.chat.Turn
	silent := now.Sub(t.Heard)
	var what string
	switch {
	case t.Lost > 0:
		what = "connection lost, reconnecting (attempt " + strconv.Itoa(t.Lost) + ")"
	case !t.Taken && silent >= hungAfter:
		what = "waiting for " + m.cfg.Place.Name() + " to accept the question"
	case !t.Taken:
		what = "asking"
	case t.Queued == 1:
		what = "waiting in the queue, 1 question before this one"
	case t.Queued > 1:
		what = "waiting in the queue, " + strconv.Itoa(t.Queued) + " questions before this one"
	case silent >= hungAfter:
		what = "no data for " + human.Duration(silent) + ", waiting for " + m.cfg.Place.Name()
	case t.Answer.Current() != "" && t.Answer.Working():
		what = t.Answer.Current()
	case t.Answer.Blank():
		what = "thinking"
	default:
		what = "writing"
	}
	return m.moving(what, human.Duration(now.Sub(t.Begun))+" · Esc stops")
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
