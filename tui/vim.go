package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/editor"
	"github.com/ohgw/ohgw/tui/keyboard"
)

// vimKey takes a key if the input has the keys of vi. It reports whether it was
// one of them.
func (m *model) vimKey(msg tea.KeyPressMsg, do action) bool {
	v := m.vim
	switch {
	case v == nil || m.open != nil:
		return false
	case do == stop:
		return !m.menu.shows() && v.Escape(&m.input.Editor)
	case !v.Normal():
		return false
	case do == send:
		v.Insert()
		return false
	case do != none || msg.Text == "" || m.input.holds():
		return false
	case m.input.Empty() && m.hotkeys().of(msg).do != none:
		return false
	}
	letter := keyboard.Command(msg)
	switch letter {
	case "j":
		m.input.move(later)
	case "k":
		m.input.move(earlier)
	case "/":
		m.openFinder()
	default:
		v.Key(&m.input.Editor, letter)
	}
	return true
}

// runVim turns the keys of vi on or off.
func runVim(m *model, _ string) (tea.Cmd, bool) {
	if m.vim != nil {
		m.vim = nil
		return m.Say("the keys of vi are off"), true
	}
	m.vim = &editor.Vim{}
	return m.Say("the keys of vi are on; Esc begins their normal mode"), true
}
