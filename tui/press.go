package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/editor"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
)

// key is a key that was pressed: it belongs to what is open, else to the input.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	cmd := m.settleFor(msg)
	if do := actionOf(bindings, name); do == leave {
		return tea.Batch(cmd, m.interrupt())
	}
	m.leaving = false
	if m.open != nil {
		return tea.Batch(cmd, m.keyOpen(msg))
	}
	do := actionOf(bindings, name)
	if do == none {
		return tea.Batch(cmd, m.write(msg))
	}
	return tea.Batch(cmd, m.act(do))
}

// keyOpen gives a key to the component that is open. It may have opened another.
func (m *model) keyOpen(msg tea.KeyPressMsg) tea.Cmd {
	open := m.open
	cmd, closed := open.key(msg)
	if closed && m.open == open {
		m.open = nil
	}
	return cmd
}

// write puts a character into the input, unless it is a letter that acts.
func (m *model) write(msg tea.KeyPressMsg) tea.Cmd {
	if msg.Text == "" {
		return nil
	}
	if m.input.Empty() && m.letter.text == "" {
		if do := actionOf(letters, msg.Text); m.listens(do) {
			m.letter = letter{text: msg.Text, do: do, n: m.letter.n + 1}
			wait := letterTime
			if do == accept || do == reject {
				wait = decideTime
			}
			return after(wait, letterMsg{m.letter.n})
		}
	}
	m.recall = len(m.history)
	m.input.Type(safe.Text(msg.Text))
	return nil
}

// listens reports whether a letter does something in the present state.
func (m *model) listens(do action) bool {
	switch do {
	case help:
		return true
	case accept, reject:
		return m.chat.Pending != nil && m.chat.Turn == nil
	case retry:
		return m.chat.Turn == nil && (m.chat.Failure != nil || m.chat.Link.State == session.Locked || m.chat.Link.State == session.Broken || m.chat.Link.State == session.NoModels)
	}
	return false
}

// settle ends the wait for what follows a letter: it acts, or it is written.
func (m *model) settle(alone bool) tea.Cmd {
	l := m.letter
	m.letter.text = ""
	if !alone || !m.listens(l.do) || !m.input.Empty() {
		m.input.Type(l.text)
		return nil
	}
	switch l.do {
	case help:
		return m.showHelp()
	case accept:
		return m.chat.Decide(true)
	case reject:
		return m.chat.Decide(false)
	case retry:
		if m.chat.Failure == nil {
			return m.chat.Connect()
		}
		return m.chat.Retry()
	}
	return nil
}

// settleFor decides about a letter by the key that follows it: Enter confirms
// it, what is written makes it the beginning of a word, others let it act.
func (m *model) settleFor(msg tea.KeyPressMsg) tea.Cmd {
	if m.letter.text == "" {
		return nil
	}
	do := actionOf(bindings, msg.String())
	return m.settle(msg.Text == "" && do != eraseBack && do != newline && do != stop && do != leave)
}

// act does what a key is for.
func (m *model) act(do action) tea.Cmd {
	if m.edit(do) || m.look(do) {
		return nil
	}
	switch do {
	case send:
		return m.enter()
	case earlier, later:
		return m.vertical(do)
	case complete:
		if text := completed(m.input.Shown()); text != "" {
			m.input.Set(text)
		}
	case editText:
		if m.cfg.Edit == nil {
			return m.Say("no editor found; set EDITOR")
		}
		return draft(m.cfg.Edit, m.input.Value())
	case pasteImage:
		if m.cfg.PasteImage == nil {
			return m.Say("pictures cannot be pasted here; /image PATH attaches one")
		}
		return clipboardImage(m.ctx, m.cfg.PasteImage)
	case stop:
		return m.escape()
	case leaveEmpty:
		if m.input.Empty() && len(m.chat.Images) == 0 {
			return tea.Quit
		}
		m.input.Delete()
	case redraw:
		return tea.ClearScreen
	case suspend:
		return tea.Suspend
	case search:
		m.openFinder()
	default:
		return m.command(do)
	}
	return nil
}

// edit does what changes the text or moves in it, and reports whether it did.
func (m *model) edit(do action) bool {
	e := &m.input
	switch do {
	case newline:
		e.Type("\n")
	case moveLeft:
		e.Left()
	case moveRight:
		e.Right()
	case moveWordLeft:
		e.WordLeft()
	case moveWordRight:
		e.WordRight()
	case moveHome:
		e.Home()
	case moveEnd:
		e.End()
	case eraseBack:
		if !e.Empty() || !m.chat.Detach() {
			e.Backspace()
		}
	case eraseNext:
		e.Delete()
	case eraseWord:
		e.DeleteWord()
	case eraseBegin:
		e.DeleteToBegin()
	case eraseEnd:
		e.DeleteToEnd()
	default:
		return false
	}
	return true
}

// look does what only changes what is seen, and reports whether it did.
func (m *model) look(do action) bool {
	m.arrange()
	switch do {
	case scrollUp:
		m.chat.Log.Scroll(-1)
	case scrollDown:
		m.chat.Log.Scroll(1)
	case pageUp:
		m.chat.Log.Page(-1)
	case pageDown:
		m.chat.Log.Page(1)
	case goTop:
		m.chat.Log.Top()
	case goBottom:
		m.chat.Log.Bottom()
	case toggleProgress:
		m.chat.Log.Expand(!m.chat.Log.Expanded())
	default:
		return false
	}
	return true
}

// paste takes in a text from the clipboard: the path of a picture attaches it.
func (m *model) paste(text string) tea.Cmd {
	cmd := tea.Cmd(nil)
	if m.letter.text != "" {
		cmd = m.settle(false)
	}
	if m.open != nil {
		if m.open.paste(text) {
			return cmd
		}
		m.open = nil
	}
	if path := imagePath(text); path != "" && m.cfg.ReadImage != nil {
		return tea.Batch(cmd, pastedImage(m.ctx, m.cfg.ReadImage, path, text))
	}
	m.recall = len(m.history)
	m.input.Paste(text)
	return cmd
}

// imagePath is the path in a text that is nothing but the path of a picture,
// as terminals paste a file that is dropped on them; else "".
func imagePath(text string) string {
	path := strings.TrimSpace(text)
	if strings.ContainsAny(path, "\n\r") || len(path) > 4096 {
		return ""
	}
	if len(path) > 1 && (path[0] == '\'' || path[0] == '"') && path[len(path)-1] == path[0] {
		path = path[1 : len(path)-1]
	} else {
		path = strings.NewReplacer(`\ `, " ", `\(`, "(", `\)`, ")").Replace(path)
	}
	path = strings.TrimPrefix(path, "file://")
	lower := strings.ToLower(path)
	for _, ext := range []string{".png", ".jpg", ".jpeg", ".gif", ".webp"} {
		if strings.HasSuffix(lower, ext) {
			return path
		}
	}
	return ""
}

// arrow remembers the last arrow keys. Terminals turn the wheel of a mouse that
// nobody captures into arrow keys, at least three at once; nobody presses that
// fast.
type arrow struct {
	do    action
	at    time.Time
	count int // of the same, at the pace of a wheel
	wheel bool
	// What there was before the first of them.
	input  editor.Draft
	kept   editor.Draft
	recall int
}

const (
	// wheelPace is less than the time between two repetitions of a held key.
	wheelPace = 15 * time.Millisecond
	// wheelFade is how slow a gesture on a touchpad may become at its end.
	wheelFade = 150 * time.Millisecond
	// wheelCount is how many arrows are the wheel.
	wheelCount = 3
)

// vertical moves in the text, then in the history; or it is the wheel.
func (m *model) vertical(do action) tea.Cmd {
	if !m.wheeled(do) {
		m.arrowed(do)
	}
	return nil
}

// wheeled reports whether an arrow is one of those that a wheel sends, and
// scrolls then. What the first ones did before that was known is taken back.
func (m *model) wheeled(do action) bool {
	now := m.cfg.Now()
	a := &m.arrow
	pace := wheelPace
	if a.wheel {
		pace = wheelFade
	}
	if a.do == do && now.Sub(a.at) < pace {
		a.count++
	} else {
		*a = arrow{do: do, count: 1, input: m.input.Draft(), kept: m.kept, recall: m.recall}
	}
	a.at = now
	m.arrange()
	lines := 1
	if !a.wheel {
		if a.count < wheelCount || !m.chat.Log.CanScroll(do == later) {
			return false
		}
		a.wheel, lines = true, a.count
		m.input.Restore(a.input)
		m.kept, m.recall = a.kept, a.recall
	}
	if do == earlier {
		lines = -lines
	}
	m.chat.Log.Scroll(lines)
	return true
}

// arrowed moves the cursor; from the first and the last line, through the
// history.
func (m *model) arrowed(do action) {
	if do == earlier {
		if !m.input.Up() {
			m.older()
		}
		return
	}
	if !m.input.Down() {
		m.newer()
	}
}

func (m *model) older() {
	if m.recall == 0 {
		return
	}
	if m.recall >= len(m.history) {
		if !m.kept.Empty() && !m.input.Empty() {
			m.sent(m.input.Value()) // A changed old question; the draft is kept already.
		} else if m.kept.Empty() {
			m.kept = m.input.Draft()
		}
		m.recall = len(m.history)
	}
	m.recall--
	m.input.Set(m.history[m.recall])
}

func (m *model) newer() {
	if m.recall >= len(m.history) {
		return
	}
	m.recall++
	if m.recall == len(m.history) {
		m.restoreDraft()
		return
	}
	m.input.Set(m.history[m.recall])
}

// restoreDraft puts what was written before the history was shown back.
func (m *model) restoreDraft() {
	m.input.Restore(m.kept)
	m.kept = editor.Draft{}
}
