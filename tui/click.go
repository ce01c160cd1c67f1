package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ohgw/ohgw/tui/wrap"
)

// clicked does what is under the mouse: it takes the line of a list or a menu,
// answers the card, or opens an action.
func (m *model) clicked(msg tea.MouseClickMsg) tea.Cmd {
	if msg.Button != tea.MouseLeft {
		return nil
	}
	p := picture{m}
	s := p.arrange()
	if over := p.over(s); msg.Y < s.body && msg.Y >= s.body-len(over) {
		return m.clickOver(msg.Y - (s.body - len(over)) - 1)
	}
	switch {
	case m.open != nil:
	case msg.Y < s.body:
		m.chat.Log.Click(msg.Y)
	case msg.Y-s.body < len(s.above):
		return m.clickCard(ansi.Strip(s.above[msg.Y-s.body]), msg.X)
	}
	return nil
}

// clickOver takes a line of what is open over the transcript: 0 is the one below
// its title.
func (m *model) clickOver(line int) tea.Cmd {
	if line < 0 {
		return nil
	}
	if l, ok := m.open.(interface{ click(line int) bool }); ok {
		if l.click(line) {
			return m.keyOpen(tea.KeyPressMsg{Code: tea.KeyEnter})
		}
		return nil
	}
	if i := m.menu.first + line; m.open == nil && i < len(m.menu.entries) {
		if m.menu.pick(i) {
			return m.enter()
		}
	}
	return nil
}

// clickCard answers the card by the choice at a column of a line.
func (m *model) clickCard(line string, column int) tea.Cmd {
	hit := func(text string) bool {
		before, _, ok := strings.Cut(line, text)
		at := wrap.Width(before)
		return ok && column >= at && column < at+wrap.Width(text)
	}
	if m.granting.asked() != nil {
		last := grantChoices[len(grantChoices)-1]
		for _, c := range grantChoices {
			if strings.Contains(line, last.key+" "+last.label(m.width)) && hit(c.key+" "+c.label(m.width)) {
				return m.granting.grant(c.scope)
			}
		}
		return nil
	}
	if m.chat.Pending == nil || m.chat.Turn != nil {
		return nil
	}
	for _, c := range choices {
		text := c.key + " " + c.label(m.width)
		if strings.Contains(line, choices[0].key+" "+choices[0].label(m.width)) && hit(text) {
			return m.chat.Decide(consents[c.do])
		}
	}
	return nil
}
