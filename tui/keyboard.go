package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/transcript"
)

// key handles a key that was pressed: it belongs to what is open, else to the input.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	do := actionOf(bindings, msg.String())
	confirms := do == send && m.input.holds() && m.input.letter.do.decides()
	cmd := m.settleFor(msg)
	if confirms {
		return cmd // It is not the answer to what comes next.
	}
	if do == leave {
		return tea.Batch(cmd, m.interrupt())
	}
	m.leaving = false
	switch {
	case m.open != nil:
		return tea.Batch(cmd, m.keyOpen(msg))
	}
	if m.vimKey(msg, do) {
		return cmd
	}
	if do == none {
		return tea.Batch(cmd, m.write(msg))
	}
	if enters, ok := m.menu.key(do); enters {
		return tea.Batch(cmd, m.enter())
	} else if ok {
		return cmd
	}
	return tea.Batch(cmd, m.act(do))
}

// keyOpen passes a key to the component that is open. It may have opened another.
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
	if m.input.Empty() && !m.input.holds() {
		if l := m.hotkeys().of(msg); l.do != none {
			return m.hold(l)
		}
	}
	m.input.typed(msg.Text)
	return nil
}

// hold keeps a letter back until it is clear whether it is a key. Enter confirms
// one that decides and is only guessed.
func (m *model) hold(l letter) tea.Cmd {
	n := m.input.hold(l)
	if l.guess {
		return m.Say("Enter answers " + l.as + "; with another key it is a text")
	}
	wait := letterTime
	if l.do.decides() {
		wait = decideTime
	}
	return after(wait, letterMsg{n})
}

// consents are the keys that answer the actions that wait.
var consents = map[action]session.Consent{accept: session.Once, acceptAlways: session.Always, acceptAll: session.All, reject: session.Refuse}

// decides reports whether a mistake with the key of an action does harm.
func (do action) decides() bool {
	_, consents := consents[do]
	return consents || do >= grantOnce && do <= grantNothing
}

// settle ends the wait for what follows a letter: it acts, or it is written.
func (m *model) settle(alone bool) tea.Cmd {
	l := m.input.release()
	if !alone || !m.hotkeys().listen(l.do) || !m.input.Empty() {
		m.input.Type(l.text)
		return nil
	}
	switch l.do {
	case help:
		return m.showHelp()
	case accept, acceptAlways, acceptAll, reject:
		return m.chat.Decide(consents[l.do])
	case allow:
		m.chat.Sandbox.Ask(false)
	case grantOnce, grantConversation, grantWorkspace, grantNothing:
		return m.granting.choose(l.do)
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
	if !m.input.holds() {
		return nil
	}
	do := actionOf(bindings, msg.String())
	if m.input.letter.guess && do != send {
		return m.settle(false)
	}
	return m.settle(msg.Text == "" && do != eraseBack && do != newline && do != stop && do != leave)
}

// act does what a key is for.
func (m *model) act(do action) tea.Cmd {
	if m.input.Empty() {
		if cmd, ok := m.granting.key(do); ok {
			return cmd
		}
	}
	if do == eraseBack && m.input.Empty() && m.chat.Detach() {
		return nil
	}
	if m.input.edit(do) || m.look(do) {
		return nil
	}
	switch do {
	case send:
		return m.enter()
	case earlier, later:
		m.arrow(do)
	case leaveEmpty:
		if m.input.Empty() && len(m.chat.Images) == 0 {
			return tea.Quit
		}
		m.input.Delete()
	default:
		return m.command(do)
	}
	return nil
}

// arrow moves in the text, then in the history; or it is the wheel.
func (m *model) arrow(do action) {
	picture{m}.arrange()
	if lines := m.wheel.arrow(do, m.cfg.Now(), &m.input, m.chat.Log.CanScroll); lines != 0 {
		m.chat.Log.Scroll(lines)
		return
	}
	m.input.move(do)
}

// command does what a key is for that neither writes nor moves.
func (m *model) command(do action) tea.Cmd {
	switch do {
	case pickModel:
		return m.pickModel("")
	case newConversation:
		return m.chat.New()
	case resume:
		return m.chat.Kept.Recent("")
	case retry:
		return m.chat.Retry()
	case copyAnswer:
		return copyAnswerOf(m)
	case copyCode:
		return m.pickCode()
	case copyID:
		return m.showID()
	case help:
		return m.showHelp()
	case editText:
		return m.drafts.begin()
	case pasteImage:
		return m.pasteImage()
	case search:
		m.openFinder()
	case stop:
		return m.escape()
	case redraw:
		return tea.ClearScreen
	case suspend:
		return tea.Suspend
	}
	return nil
}

func (m *model) pasteImage() tea.Cmd {
	if m.cfg.PasteImage == nil {
		return m.Say("pictures cannot be pasted here; /image PATH attaches one")
	}
	return clipboardImage(m.ctx, m.cfg.PasteImage)
}

// scrolls are what keys change in what is seen of the transcript.
var scrolls = map[action]func(*transcript.List){
	scrollUp:       func(l *transcript.List) { l.Scroll(-1) },
	scrollDown:     func(l *transcript.List) { l.Scroll(1) },
	pageUp:         func(l *transcript.List) { l.Page(-1) },
	pageDown:       func(l *transcript.List) { l.Page(1) },
	goTop:          (*transcript.List).Top,
	goBottom:       (*transcript.List).Bottom,
	toggleProgress: (*transcript.List).Unfold,
	selectEarlier:  func(l *transcript.List) { l.Select(true) },
	selectLater:    func(l *transcript.List) { l.Select(false) },
}

// look does what only changes what is seen, and reports whether it did.
func (m *model) look(do action) bool {
	scroll, ok := scrolls[do]
	if ok {
		picture{m}.arrange()
		scroll(m.chat.Log)
	}
	return ok
}

// enter sends what is written, or does the command that it is.
func (m *model) enter() tea.Cmd {
	text := m.input.Value()
	blank := strings.TrimSpace(text) == ""
	if blank && len(m.chat.Images) == 0 {
		picture{m}.arrange()
		m.chat.Log.Toggle()
		return nil
	}
	if line, ok := strings.CutPrefix(text, "!"); ok {
		return m.shell(line)
	}
	if c, rest, ok := slash(text); ok {
		return m.slash(c, rest)
	}
	if why := unknown(text); why != "" {
		return m.Say(why)
	}
	if blank {
		return m.Say("add a question about the picture")
	}
	if m.chat.Model == "" {
		return m.Say("not sent: there is no model yet; your text is kept")
	}
	shown := m.input.Shown()
	m.input.sent(text)
	m.input.restoreDraft()
	m.chat.Log.Bottom()
	return m.chat.Submit(unescaped(text), unescaped(shown))
}

// slash does a command. One that cannot be done leaves the input as it is.
func (m *model) slash(c slashCommand, rest string) tea.Cmd {
	var cmd tea.Cmd
	var ok bool
	if c.onScreen != nil {
		cmd, ok = c.onScreen(m, rest)
	} else {
		cmd, ok = c.run(m, rest)
	}
	if ok {
		m.input.sent(m.input.Value())
		m.input.Clear()
	}
	return cmd
}

// shell runs a command of the user. One that cannot be run leaves the input as
// it is.
func (m *model) shell(line string) tea.Cmd {
	cmd, ok := m.chat.Commands.Run(m.chat.Dir(), line)
	if ok {
		m.input.sent(m.input.Value())
		m.input.restoreDraft()
	}
	return cmd
}

// interrupt handles Ctrl+C: it ends the user's command, else it stops the run, and
// the second one leaves.
func (m *model) interrupt() tea.Cmd {
	if m.chat.Commands.Running != nil {
		m.chat.Commands.End()
		return nil
	}
	if m.chat.Turn != nil {
		return tea.Batch(m.chat.Stop(), m.Say("stopped; Ctrl+C twice quits"))
	}
	if m.leaving {
		return tea.Quit
	}
	cmd := m.Say("Ctrl+C again quits")
	m.leaving = true
	return cmd
}

// escape closes what is open, or stops the run.
func (m *model) escape() tea.Cmd {
	switch {
	case m.chat.Log.Unselect():
		return nil
	case m.chat.Turn != nil:
		return tea.Batch(m.chat.Stop(), m.Say("stopped; the partial answer is kept"))
	case m.chat.Commands.Running != nil:
		m.chat.Commands.End()
	case !m.chat.Log.Following():
		m.chat.Log.Bottom()
	}
	m.chat.Log.Mark("")
	return nil
}

// paste takes in a text from the clipboard: the path of a picture attaches it.
func (m *model) paste(text string) tea.Cmd {
	cmd := tea.Cmd(nil)
	if m.input.holds() {
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
	m.input.pasted(text)
	return cmd
}
