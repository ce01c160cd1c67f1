package tui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/markdown"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
)

// offered are the models to choose from. One without an agent is for those who
// name it.
func offered(s *session.Session) []gateway.Model {
	var models []gateway.Model
	for _, x := range s.Models {
		if !x.Plain || x.ID == s.Model {
			models = append(models, x)
		}
	}
	return models
}

// resembling are the ids of the models that a text may mean: the one of that
// name, or those that have its letters.
func resembling(s *session.Session, text string) []string {
	for _, x := range s.Models {
		if x.ID == text {
			return []string{x.ID}
		}
	}
	var found []string
	for _, x := range offered(s) {
		if fuzzy(text, x.ID+" "+x.Description) >= 0 {
			found = append(found, x.ID)
		}
	}
	return found
}

func chooseModel(v view, id string) tea.Cmd {
	said := v.chose(id)
	return tea.Batch(said, v.state().SetModel(id))
}

// pickModel opens the list of the models, and asks for a fresh one.
func (m *model) pickModel(text string) tea.Cmd {
	p := newPicker("Models", m.modelItems())
	p.load = m.modelItems
	p.write(text)
	m.open = p
	return m.chat.Connect()
}

func (m *model) modelItems() []item {
	models := offered(m.chat)
	items := make([]item, len(models))
	for i, x := range models {
		detail := safe.Line(x.Description)
		if x.ID == m.chat.Model {
			detail = strings.TrimPrefix(detail+" · in use", " · ")
		}
		items[i] = item{name: safe.Line(x.ID), detail: detail, pick: func() tea.Cmd { return chooseModel(m, x.ID) }}
	}
	return items
}

// Resumable implements [session.View].
func (m *model) Resumable(list []session.Conversation) {
	items := make([]item, len(list))
	for i, c := range list {
		name := safe.Line(c.Title)
		if name == "" {
			name = safe.Line(c.ID)
		}
		items[i] = item{
			name: name, detail: human.Ago(m.cfg.Now().Sub(c.Used)) + " · " + safe.Line(c.Model) + " · " + shortID(c.ID),
			pick: func() tea.Cmd { return m.chat.Continue(c) },
		}
	}
	m.open = newPicker("Conversations", items)
}

// copyAnswerOf copies the last answer.
func copyAnswerOf(v view) tea.Cmd {
	a := v.state().Log.LastAnswer()
	if a == nil || a.Answer() == "" {
		return v.Say("there is no answer to copy")
	}
	text := a.Answer()
	return v.copyText(text, "the answer, "+human.Size(int64(len(text))))
}

// copyNumber copies the block of code with a number, from 1.
func copyNumber(v view, s string) (tea.Cmd, bool) {
	a := v.state().Log.LastAnswer()
	if a == nil {
		return v.Say("there is no answer to copy"), false
	}
	blocks := markdown.Code(a.Source())
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > len(blocks) {
		return v.Say("the last answer has " + strconv.Itoa(len(blocks)) + " blocks of code"), false
	}
	return copyBlock(v, blocks[n-1]), true
}

func copyBlock(v view, code string) tea.Cmd {
	return v.copyText(code, "the code, "+human.Lines(code))
}

// pickCode copies the block of code of the last answer, or asks which.
func (m *model) pickCode() tea.Cmd {
	var found []string
	if a := m.chat.Log.LastAnswer(); a != nil {
		found = markdown.Code(a.Source())
	}
	switch len(found) {
	case 0:
		return m.Say("there is no block of code in the last answer")
	case 1:
		return copyBlock(m, found[0])
	}
	items := make([]item, len(found))
	for i, code := range found {
		first, _, _ := strings.Cut(strings.TrimSpace(code), "\n")
		items[i] = item{
			name: strconv.Itoa(i+1) + "  " + safe.Line(first), detail: human.Lines(code),
			pick: func() tea.Cmd { return copyBlock(m, code) },
		}
	}
	m.open = newPicker("Blocks of code", items)
	return nil
}

// copyText implements [view]: the terminal and the system are asked.
func (m *model) copyText(text, what string) tea.Cmd { return copyText(m.ctx, m.cfg.Copy, text, what) }

// showID implements [view].
func (m *model) showID() tea.Cmd {
	id := m.chat.Convo.ID
	return m.copyText(id, "the id "+id)
}

// showHelp implements [view].
func (m *model) showHelp() tea.Cmd {
	m.open = &helper{}
	return nil
}

// chose implements [view].
func (m *model) chose(id string) tea.Cmd { return m.Say("the next question uses " + id) }

func (m *model) quit() tea.Cmd { return tea.Quit }

func (m *model) config() Config { return m.cfg }
