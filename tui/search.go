package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/editor"
	"github.com/ohgw/ohgw/tui/safe"
)

// finder is the search while it is open.
type finder struct {
	query editor.Editor
	found bool
	count int
}

func (m *model) openFind() {
	m.find = &finder{}
	m.find.query.SetWidth(1 << 20)
}

// search looks for what is written: from the end upwards, or again from the
// line found last.
func (m *model) search(down, again bool) {
	m.arrange()
	m.find.found = m.log.Find(m.find.query.Value(), down, again)
	m.find.count = m.log.Matches()
}

// findKey is a key while the search is open.
func (m *model) findKey(msg tea.KeyPressMsg) {
	switch do := actionOf(bindings, msg.String()); {
	case do == stop:
		m.find = nil
		m.log.Mark("")
		return
	case do == send, do == earlier, do == search:
		m.search(false, true)
		return
	case do == later:
		m.search(true, true)
		return
	case do == eraseBack:
		m.find.query.Backspace()
	case do == eraseWord || do == eraseBegin:
		m.find.query.Clear()
	case do == none && msg.Text != "":
		m.find.query.Type(safe.Line(msg.Text))
		if msg.Text == " " {
			m.find.query.Type(" ")
		}
	default:
		m.look(do)
		return
	}
	m.search(false, false)
}
