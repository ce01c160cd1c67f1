package tui

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"

	"github.com/ohgw/ohgw/tui/keyboard"
	"github.com/ohgw/ohgw/tui/session"
)

// Update takes in a message. It reads and writes nothing outside of the model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	before, _ := m.open.(*viewer)
	cmd := m.update(msg)
	if before != nil && m.open != before {
		cmd = tea.Batch(cmd, before.gone())
	}
	if list := m.menu.refresh(m.open != nil || m.vim != nil && m.vim.Normal()); list != nil {
		cmd = tea.Batch(cmd, list)
	}
	if news := m.notifier.show(); news != nil {
		cmd = tea.Batch(cmd, news)
	}
	if read := m.shots.read(m.width); read != nil {
		cmd = tea.Batch(cmd, read)
	}
	if tick := m.status.move(); tick != nil {
		cmd = tea.Batch(cmd, tick)
	}
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return m.key(keyboard.Shortcut(msg))
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case tea.MouseClickMsg:
		return m.clicked(msg)
	case tea.MouseWheelMsg:
		return m.wheeled(msg)
	case tickMsg:
		m.status.tick()
		return nil
	case flashMsg:
		if m.status.over(msg) {
			m.leaving = false
		}
		return nil
	case letterMsg:
		if msg.n == m.input.letter.n && m.input.holds() {
			return m.settle(true)
		}
		return nil
	}
	if cmd, ok := m.chat.Update(msg); ok {
		return cmd
	}
	return m.updateWorld(msg)
}

// updateWorld takes in what the terminal and the editor tell.
func (m *model) updateWorld(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return m.resize(msg)
	case tea.BackgroundColorMsg:
		m.canvas.dark = msg.IsDark()
		m.restyle()
	case tea.ColorProfileMsg:
		m.canvas.coloured, m.canvas.rich = msg.Profile >= colorprofile.ANSI, msg.Profile >= colorprofile.ANSI256
		m.restyle()
	case draftMsg:
		return m.drafts.laid(msg)
	case editedMsg:
		m.drafts.edited(msg)
	case insertMsg:
		m.input.Paste(msg.text)
	case tea.FocusMsg:
		m.notifier.away = false
	case tea.BlurMsg:
		m.notifier.away = true
	case addedMsg:
		if !m.adding.ended(msg.err) {
			return m.Say("no model was added")
		}
		return m.chat.Connect()
	case session.NamesMsg:
		return m.menu.named(msg)
	case uv.PrimaryDeviceAttributesEvent, shotMsg, viewMsg, drawMsg:
		return m.pictured(msg)
	}
	return nil
}

// resize takes in the size of the terminal. One that does not know it, as on a
// serial line, is taken for the smallest that is usual.
func (m *model) resize(msg tea.WindowSizeMsg) tea.Cmd {
	if msg.Width <= 0 || msg.Height <= 0 {
		return func() tea.Msg { return tea.WindowSizeMsg{Width: 80, Height: 24} }
	}
	m.width, m.height = msg.Width, msg.Height
	if _, ok := m.open.(*viewer); ok { // what it shows has lost its place
		m.open = nil
	}
	return nil
}

// wheeled scrolls with a mouse that reports to us.
func (m *model) wheeled(msg tea.MouseWheelMsg) tea.Cmd {
	switch msg.Button {
	case tea.MouseWheelUp:
		m.scroll(-3)
	case tea.MouseWheelDown:
		m.scroll(3)
	}
	return nil
}

func (m *model) scroll(lines int) {
	if m.open != nil && m.open.scroll(lines) {
		return
	}
	picture{m}.arrange()
	m.chat.Log.Scroll(lines)
}
