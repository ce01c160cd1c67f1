package sharing

import (
	"strings"

	"github.com/ohgw/ohgw/agentapi/turn"
)

// Echo lets through what was not shown before: a log that is read again begins where it
// began the first time, and what was written as pieces comes as a whole. The zero value
// has shown nothing.
type Echo struct {
	shown strings.Builder // all text
	at    int             // how far the text of this reading agrees with it
	lines map[line]int
	now   map[line]int // of this reading
}

// line is what makes two updates the same one.
type line struct {
	kind turn.UpdateKind
	text string
}

// Again begins another reading.
func (e *Echo) Again() {
	if e.lines == nil {
		e.lines = make(map[line]int)
	}
	e.at, e.now = 0, make(map[line]int)
}

// HasText reports whether text was shown.
func (e *Echo) HasText() bool { return e.shown.Len() > 0 }

// Pass returns what of an update is new; false: nothing of it. Again was called before.
func (e *Echo) Pass(u turn.Update) (turn.Update, bool) {
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
func (e *Echo) isNew(u turn.Update) bool {
	of := line{u.Kind, u.Text}
	if u.Call != nil { // its beginning and its end are two
		of.text = u.Call.ID + "\x00" + string(u.Call.State) + "\x00" + u.Text
	}
	e.now[of]++
	if e.now[of] <= e.lines[of] {
		return false
	}
	e.lines[of] = e.now[of]
	return true
}
