package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// enter sends what is written, or does the command that it is.
func (m *model) enter() tea.Cmd {
	text := m.input.Value()
	if strings.TrimSpace(text) == "" && len(m.chat.Images) == 0 {
		return nil
	}
	if c, rest, ok := slash(text); ok {
		return m.slash(c, rest)
	}
	if strings.TrimSpace(text) == "" {
		return m.Say("add a question about the picture")
	}
	if m.chat.Model == "" {
		return m.Say("not sent: there is no model yet; your text is kept")
	}
	shown := m.input.Shown()
	m.sent(text)
	m.restoreDraft()
	m.chat.Log.Bottom()
	return m.chat.Submit(text, shown)
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
		m.sent(m.input.Value())
		m.input.Clear()
	}
	return cmd
}

// sent keeps a text for the arrow keys.
func (m *model) sent(text string) {
	if n := len(m.history); n == 0 || m.history[n-1] != text {
		m.history = append(m.history, text)
	}
	m.recall = len(m.history)
}

// interrupt is Ctrl+C: it stops the run, and the second one leaves.
func (m *model) interrupt() tea.Cmd {
	if m.chat.Turn != nil {
		m.chat.Stop()
		return m.Say("stopped; Ctrl+C twice quits")
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
	case m.chat.Turn != nil:
		m.chat.Stop()
		return m.Say("stopped; the partial answer is kept")
	case !m.chat.Log.Following():
		m.chat.Log.Bottom()
	}
	m.chat.Log.Mark("")
	return nil
}

// command does what a key and a slash command share.
func (m *model) command(do action) tea.Cmd {
	switch do {
	case pickModel:
		return m.pickModel("")
	case newConversation:
		m.chat.New()
	case resume:
		return m.chat.Recent()
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
	}
	return nil
}
