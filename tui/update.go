package tui

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// Update takes in a message. It reads and writes nothing outside of the model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	return m, m.update(msg)
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	case batchMsg:
		return m.batch(msg)
	case tickMsg:
		return m.tick()
	case tea.WindowSizeMsg:
		return m.resize(msg)
	case tea.BackgroundColorMsg:
		m.dark = msg.IsDark()
		m.restyle()
	case tea.ColorProfileMsg:
		m.coloured, m.rich = msg.Profile >= colorprofile.ANSI, msg.Profile >= colorprofile.ANSI256
		m.restyle()
	case modelsMsg:
		return m.listed(msg)
	case againMsg:
		return m.again()
	case flashMsg:
		if msg.n == m.flashes {
			m.flash, m.leaving = "", false
		}
	case letterMsg:
		if msg.n == m.letter.n && m.letter.text != "" {
			return m.settle(true)
		}
	case draftMsg:
		return m.drafted(msg)
	case editedMsg:
		return m.edited(msg)
	case imageMsg:
		return m.attached(msg)
	case doneMsg:
		return m.acted(msg)
	case recentMsg:
		return m.recalled(msg)
	case rememberedMsg:
		if msg.err != nil {
			return m.say("the conversation is not kept: " + msg.err.Error())
		}
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
	return nil
}

func (m *model) tick() tea.Cmd {
	m.ticking = false
	m.ticks++
	return m.startTicking()
}

// wheel scrolls with a mouse that reports to us.
func (m *model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	switch msg.Button {
	case tea.MouseWheelUp:
		m.scroll(-3)
	case tea.MouseWheelDown:
		m.scroll(3)
	}
	return nil
}

func (m *model) scroll(n int) {
	if m.help != nil {
		m.help.scroll(n)
		return
	}
	if m.dialog != nil {
		m.dialog.move(n / 3)
		return
	}
	m.arrange()
	m.log.Scroll(n)
}

func (m *model) drafted(msg draftMsg) tea.Cmd {
	if msg.err != nil {
		m.complain("The editor cannot be opened: " + msg.err.Error())
		return nil
	}
	return runEditor(msg.draft)
}

func (m *model) edited(msg editedMsg) tea.Cmd {
	if msg.err != nil {
		m.complain("The editor failed, and what you wrote here is as it was: " + msg.err.Error())
		return nil
	}
	m.input.Clear()
	m.input.Paste(trimEnd(msg.text))
	return nil
}

func (m *model) attached(msg imageMsg) tea.Cmd {
	if msg.err != nil {
		if msg.paste != "" {
			m.input.Paste(msg.paste)
			return nil
		}
		return m.say("no picture attached: " + msg.err.Error())
	}
	m.images = append(m.images, msg.image)
	return m.say("attached " + imageLabel(msg.image))
}

func (m *model) acted(msg doneMsg) tea.Cmd {
	if msg.err != nil {
		m.complain(sentence(msg.err.Error()))
		return nil
	}
	return m.say(msg.what)
}
