package tui

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/editor"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
	"github.com/ohgw/ohgw/tui/wrap"
)

// finder is the search while it is open.
type finder struct {
	log   *transcript.List
	ready func()            // gives log the size it has on the screen
	look  func(action) bool // scrolls in log
	query editor.Editor
	found bool
	count int
}

func (m *model) openFinder() *finder {
	f := &finder{log: m.chat.Log, ready: func() { picture{m}.arrange() }, look: m.look}
	f.query.SetWidth(1 << 20)
	m.open = f
	return f
}

// search looks for what is written: from the end upwards, or again from the
// line found last.
func (f *finder) search(down, again bool) {
	f.ready()
	f.found = f.log.Find(f.query.Value(), down, again)
	f.count = f.log.Matches()
}

// key implements [component].
func (f *finder) key(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch do := actionOf(bindings, msg.String()); do {
	case stop:
		f.log.Mark("")
		return nil, true
	case send, earlier, search:
		f.search(false, true)
	case later:
		f.search(true, true)
	case eraseBack:
		f.query.Backspace()
		f.search(false, false)
	case eraseWord, eraseBegin:
		f.query.Clear()
		f.search(false, false)
	case none:
		f.write(msg.Text)
	default:
		f.look(do)
	}
	return nil, false
}

// write adds what a key gives to what is looked for.
func (f *finder) write(text string) {
	if text == "" {
		return
	}
	f.query.Type(safe.Line(text))
	if text == " " {
		f.query.Type(" ")
	}
	f.search(false, false)
}

// paste implements [component].
func (f *finder) paste(text string) bool {
	f.query.Paste(safe.Line(text))
	return true
}

// scroll implements [component].
func (f *finder) scroll(int) bool { return false }

// view implements [component]: the search covers nothing.
func (f *finder) view(looks, int, int) []string { return nil }

// prompt implements [prompter].
func (f *finder) prompt(l looks, width int) (string, int) {
	q := f.query.Shown()
	var found string
	switch {
	case q == "":
		found = "text to find"
	case !f.found:
		found = "not found"
	case f.count == 1:
		found = "in 1 message"
	default:
		found = "in " + strconv.Itoa(f.count) + " messages"
	}
	tail := found + " · ↑ ↓ next · Esc"
	line := paint(l.accent, "/") + wrap.Cut(q, max(width-wrap.Width(tail)-4, 1)) + "  " + paint(l.faint, tail)
	return line, wrap.Width("/" + q)
}
