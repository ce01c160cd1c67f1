package browse

import (
	"context"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/keyboard"
)

// key takes a key.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	msg = keyboard.Shortcut(msg)
	name := msg.String()
	if name == "ctrl+c" {
		return tea.Quit
	}
	switch m.mode {
	case filtering, writing:
		return m.keyTyping(name, msg.Text)
	case confirming:
		m.mode = listing
		if keyboard.Says(msg, "y") {
			return m.about(m.confirm, "removing", func(ctx context.Context, it Item) doneMsg {
				text, err := m.cfg.Source.Remove(ctx, it)
				return doneMsg{text: text, err: err, removed: true}
			})
		}
		m.note = "Nothing was removed."
		return nil
	}
	if msg.Text != "" {
		name = keyboard.Command(msg)
	}
	if cmd, moved := m.keyMoving(name); moved {
		return cmd
	}
	return m.keyDoing(name)
}

// keyTyping takes a key while a line is typed.
func (m *model) keyTyping(name, text string) tea.Cmd {
	line := &m.typed
	if m.mode == filtering {
		line = &m.filter
	}
	switch name {
	case "esc":
		*line, m.mode = "", listing
	case "enter":
		return m.entered()
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(*line)
		*line = (*line)[:len(*line)-size]
	default:
		m.write(text)
	}
	if m.mode == filtering {
		return m.more()
	}
	return nil
}

// entered ends the line.
func (m *model) entered() tea.Cmd {
	was, text := m.mode, m.typed
	m.mode, m.typed = listing, ""
	if was == filtering || text == "" {
		return nil
	}
	return m.about(m.confirm, "sending", func(ctx context.Context, it Item) doneMsg {
		text, err := m.cfg.Source.Send(ctx, it, text)
		return doneMsg{text: text, err: err}
	})
}

// more loads the next page where the list ends on the screen.
func (m *model) more() tea.Cmd {
	if m.at+m.rows() >= len(m.shown()) {
		return m.load(false)
	}
	return nil
}

// keyMoving takes a key that moves the cursor.
func (m *model) keyMoving(name string) (cmd tea.Cmd, moved bool) {
	switch name {
	case "up", "k":
		m.at--
	case "down", "j":
		m.at++
	case "pgdown", "n", "space":
		m.at += m.rows()
	case "pgup", "p":
		m.at -= m.rows()
	case "home", "g":
		m.at = 0
	case "end", "G":
		m.at = len(m.shown()) - 1
	default:
		return nil, false
	}
	m.settle()
	return m.more(), true
}

// keyDoing takes a key that does something.
func (m *model) keyDoing(name string) tea.Cmd {
	switch name {
	case "q", "esc":
		if name == "esc" && m.filter != "" {
			m.filter = ""
			return nil
		}
		return tea.Quit
	case "/":
		m.mode, m.note = filtering, ""
		return nil
	case "r":
		m.note = ""
		return m.load(true)
	}
	list := m.shown()
	if m.at >= len(list) {
		return nil
	}
	return m.keyAbout(name, list[m.at])
}

// keyAbout takes a key about a conversation.
func (m *model) keyAbout(name string, it Item) tea.Cmd {
	src := m.cfg.Source
	plain := func(do func(context.Context, Item) (string, error)) func(context.Context, Item) doneMsg {
		return func(ctx context.Context, it Item) doneMsg {
			text, err := do(ctx, it)
			return doneMsg{text: text, err: err}
		}
	}
	switch name {
	case "o", "enter":
		return m.about(it, "opening", plain(src.Open))
	case "t":
		return m.about(it, "downloading the trajectory of", plain(src.Trajectory))
	case "a":
		return m.about(it, "downloading the workspace of", plain(src.Workspace))
	case "w":
		return m.about(it, "waking", func(ctx context.Context, it Item) doneMsg {
			text, err := src.Wake(ctx, it)
			return doneMsg{text: text, err: err, woken: true}
		})
	case "m":
		m.mode, m.confirm, m.typed, m.note = writing, it, "", ""
	case "d":
		m.mode, m.confirm = confirming, it
	}
	return nil
}

// about does something with a conversation.
func (m *model) about(it Item, doing string, do func(context.Context, Item) doneMsg) tea.Cmd {
	m.busy++
	m.note = "… " + doing + " " + titleOf(it)
	return m.run(func(ctx context.Context) tea.Msg {
		msg := do(ctx, it)
		msg.it = it
		return msg
	})
}
