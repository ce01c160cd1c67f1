package tui

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/keyboard"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/wrap"
)

// sessionList is the conversations to choose from. One of them can be renamed or
// deleted there.
type sessionList struct {
	*picker
	m    *model
	list []session.Conversation
	ask  listQuestion
	name string // the new title that is written
}

// listQuestion is what the list asks about the conversation at the cursor.
type listQuestion int

const (
	askNothing listQuestion = iota
	askTitle
	askDelete
)

const sessionsTitle = "Conversations"

// Resumable implements [session.View].
func (m *model) Resumable(list []session.Conversation, query string) {
	s := &sessionList{m: m, list: list, picker: newPicker(sessionsTitle, nil)}
	s.setItems(s.items())
	s.write(query)
	m.open = s
}

// items are the lines of the list.
func (s *sessionList) items() []item {
	items := make([]item, len(s.list))
	for i, c := range s.list {
		items[i] = item{name: titleOf(c), detail: about(c, human.Ago(s.m.cfg.Now().Sub(c.Used))), pick: func() tea.Cmd { return s.m.chat.Continue(c) }}
	}
	return items
}

func titleOf(c session.Conversation) string { return safe.Line(cmp.Or(c.Title, c.ID)) }

// about is a conversation besides its title.
func about(c session.Conversation, ago string) string {
	text := ago + " · " + safe.Line(c.Model) + " · " + shortID(c.ID)
	if c.Workspace != "" {
		text += " · " + safe.Line(c.Workspace)
	}
	return text
}

// current is the index of the conversation at the cursor.
func (s *sessionList) current() (int, bool) {
	if len(s.shown) == 0 {
		return 0, false
	}
	return s.shown[s.at], true
}

// key implements [component].
func (s *sessionList) key(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch s.ask {
	case askTitle:
		return s.keyTitle(msg)
	case askDelete:
		return s.keyDelete(msg)
	case askNothing:
	}
	i, any := s.current()
	switch key := msg.String(); {
	case key == "ctrl+e" && any:
		s.ask, s.name = askTitle, s.list[i].Title
		return nil, false
	case (key == "ctrl+d" || key == "delete") && any:
		s.ask = askDelete
		return nil, false
	case key == "ctrl+r": // as it was opened
		s.move(1)
		return nil, false
	}
	return s.picker.key(msg)
}

func (s *sessionList) keyTitle(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch msg.String() {
	case "esc":
		s.ask = askNothing
	case "enter":
		s.ask = askNothing
		i, _ := s.current()
		c := s.list[i]
		if title := session.Title(s.name); title != "" {
			s.list[i].Title = title
			s.keep()
		}
		return s.m.chat.Rename(c, s.name), false
	case "backspace", "ctrl+h":
		if r := []rune(s.name); len(r) > 0 {
			s.name = string(r[:len(r)-1])
		}
	case "ctrl+u", "ctrl+w":
		s.name = ""
	default:
		s.addName(msg.Text)
	}
	return nil, false
}

func (s *sessionList) addName(text string) {
	s.name += safe.Line(text)
	if text == " " {
		s.name += " "
	}
}

func (s *sessionList) keyDelete(msg tea.KeyPressMsg) (cmd tea.Cmd, closed bool) {
	s.ask = askNothing
	if !keyboard.Says(msg, "y") {
		return nil, false
	}
	i, _ := s.current()
	cmd = s.m.chat.Kept.Remove(s.list[i])
	s.list = append(s.list[:i:i], s.list[i+1:]...)
	s.keep()
	return cmd, len(s.list) == 0
}

// keep shows the list as it is now, with the cursor where it was.
func (s *sessionList) keep() {
	at := s.at
	s.setItems(s.items())
	s.move(at)
}

// paste implements [component].
func (s *sessionList) paste(text string) bool {
	if s.ask == askTitle {
		s.addName(text)
		return true
	}
	return s.ask == askDelete || s.picker.paste(text)
}

// view implements [component].
func (s *sessionList) view(l looks, width, height int) []string {
	i, any := s.current()
	s.title = sessionsTitle
	head := ""
	switch {
	case s.ask == askTitle:
		head = rule(l.accent, paint(l.strong, wrap.Cut("New title: "+s.name, max(width-8, 1)))+paint(l.accent, "▏"), width)
	case s.ask == askDelete && any:
		head = rule(l.warn, paint(l.strong, wrap.Cut("Delete “"+titleOf(s.list[i])+"” and its files? y confirms", max(width-6, 1))), width)
	case s.query == "":
		s.title = strings.TrimSpace(sessionsTitle + " · Ctrl+E renames · Ctrl+D deletes")
	}
	lines := s.picker.view(l, width, height)
	if head != "" {
		lines[0] = head
	}
	return lines
}
