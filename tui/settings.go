package tui

import (
	"cmp"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/editor"
	"github.com/ohgw/ohgw/tui/session"
)

// themes are all of them, in the order in which a setting goes through them.
func themes() []Theme { return []Theme{Auto, Light, Dark, Terminal} }

// showSettings opens the list of the settings. Enter changes one; a switch or a
// theme is stored for later chats.
func (m *model) showSettings() tea.Cmd {
	theme := cmp.Or(m.canvas.theme, Auto)
	next := themes()[(slices.Index(themes(), theme)+1)%len(themes())]
	m.open = newPicker("Settings", []item{
		{name: "model", detail: m.chat.ModelName(), pick: func() tea.Cmd { return m.pickModel("") }},
		{name: "confirmation", detail: modeName(m.chat.Confirmation), pick: m.pickMode},
		{name: "theme", detail: string(theme), pick: func() tea.Cmd {
			cmd, _ := runTheme(m, string(next))
			return tea.Batch(cmd, store(m, "theme", string(next)))
		}},
		{name: "mouse", detail: onOff(m.mouse), pick: func() tea.Cmd {
			cmd, _ := runMouse(m, "")
			return tea.Batch(cmd, store(m, "mouse", m.mouse))
		}},
		{name: "vim", detail: onOff(m.vim != nil), pick: func() tea.Cmd {
			m.vim = toggled(m.vim)
			return store(m, "vim", m.vim != nil)
		}},
		{name: "notify", detail: onOff(m.cfg.Notify), pick: func() tea.Cmd {
			m.cfg.Notify = !m.cfg.Notify
			return store(m, "notify", m.cfg.Notify)
		}},
	})
	return nil
}

func toggled(v *editor.Vim) *editor.Vim {
	if v != nil {
		return nil
	}
	return &editor.Vim{}
}

// store keeps a setting for later chats.
func store(m *model, key string, value any) tea.Cmd {
	said := key + ": "
	switch v := value.(type) {
	case bool:
		said += onOff(v)
	case string:
		said += v
	}
	if m.cfg.Store == nil {
		return m.Say(said)
	}
	keep := m.cfg.Store
	return func() tea.Msg { return session.DoneMsg{What: said + " · stored", Err: keep(key, value)} }
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// modeName is a confirmation mode for people.
func modeName(mode gateway.Confirmation) string {
	return cmp.Or(string(mode), "as ohgw serve has it")
}
