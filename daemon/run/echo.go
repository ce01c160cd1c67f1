package run

import (
	"strings"

	"github.com/ohgw/ohgw/agentapi/turn"
)

// echo lets through what was not shown before: a log that is read again begins where
// it began the first time, and what was written as pieces comes as a whole.
type echo struct {
	shown strings.Builder // all text
	at    int             // how far the text of this reading agrees with it
	lines map[turn.Update]int
	now   map[turn.Update]int // of this reading
}

// again begins another reading.
func (e *echo) again() {
	if e.lines == nil {
		e.lines = make(map[turn.Update]int)
	}
	e.at, e.now = 0, make(map[turn.Update]int)
}

// pass is what of an update is new; false: nothing.
func (e *echo) pass(u turn.Update) (turn.Update, bool) {
	if u.Kind != turn.Text {
		return u, e.isNew(u)
	}
	old := e.shown.String()[e.at:]
	n := min(len(old), len(u.Text))
	if old[:n] == u.Text[:n] {
		e.at += n
		u.Text = u.Text[n:]
	}
	if u.Text == "" {
		return u, false
	}
	e.shown.WriteString(u.Text)
	e.at = e.shown.Len()
	return u, true
}

// isNew reports whether a line was not shown so often yet.
func (e *echo) isNew(u turn.Update) bool {
	line := turn.Update{Kind: u.Kind, Text: u.Text}
	if u.Call != nil { // its beginning and its end are two
		line.Text = u.Call.ID + string(u.Call.State) + line.Text
	}
	e.now[line]++
	if e.now[line] <= e.lines[line] {
		return false
	}
	e.lines[line] = e.now[line]
	return true
}
