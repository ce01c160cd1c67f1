package tui

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/markdown"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/transcript"
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
	if m.cfg.AddModel != nil {
		items = append(items, item{name: "add a model …", detail: "ohgw profiles add", pick: func() tea.Cmd {
			cmd, _ := m.addModel()
			return cmd
		}})
	}
	return items
}

// addModel gives the terminal to the command that adds a model.
func (m *model) addModel() (tea.Cmd, bool) {
	if m.cfg.AddModel == nil {
		return m.Say("no model can be added here; run ohgw profiles add"), false
	}
	cmd, err := m.cfg.AddModel()
	if err != nil {
		m.chat.Note("No model can be added: "+err.Error(), true)
		return nil, true
	}
	m.adding.begin()
	return lendTerminal(m.ctx, cmd, m.cfg.Lend, func(err error) tea.Msg { return addedMsg{err} }), true
}

// adding finds the model that a command adds.
type adding struct {
	chat  *session.Session
	known map[string]bool // the models before; nil while none is added
	runs  bool            // the command runs
}

func (a *adding) begin() {
	a.known, a.runs = make(map[string]bool), true
	for _, x := range a.chat.Models {
		a.known[x.ID] = true
	}
}

// ended notes that the command has ended, and reports whether a model was added.
func (a *adding) ended(err error) bool {
	a.runs = false
	if err != nil {
		a.known = nil
	}
	return err == nil
}

// listed chooses the model that was added, once it is listed.
func (a *adding) listed() {
	if a.known == nil || a.runs || a.chat.Link.State != session.Ready {
		return
	}
	for _, x := range offered(a.chat) {
		if !a.known[x.ID] {
			a.chat.Model = x.ID
			a.chat.Note("Model: "+x.ID+".", false)
		}
	}
	a.known = nil
}

// pickMode opens the list of the confirmation modes.
func (m *model) pickMode() tea.Cmd {
	var items []item
	for _, mode := range session.Modes {
		detail := mode[1]
		if mode[0] == string(m.chat.Confirmation) {
			detail += " · in use"
		}
		items = append(items, item{name: mode[0], detail: detail, pick: func() tea.Cmd {
			cmd, _ := m.chat.SetMode(mode[0])
			return cmd
		}})
	}
	m.open = newPicker("Confirmation", items)
	return nil
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

// codeBlock is a block of code of an answer.
type codeBlock struct {
	code string
	last bool // of the last answer
}

// codeBlocks are the blocks of all answers: those of the last answer first, each
// answer's in their order.
func codeBlocks(log *transcript.List) (found []codeBlock) {
	last := log.LastAnswer()
	for _, m := range slices.Backward(log.Messages()) {
		if a, ok := m.(*transcript.Answer); ok {
			for _, code := range markdown.Code(a.Source()) {
				found = append(found, codeBlock{code, a == last})
			}
		}
	}
	return found
}

// pickCode copies the only block of code of the last answer. Pressed again, or
// where there are more or none, it asks which, also of earlier answers.
func (m *model) pickCode() tea.Cmd {
	found := codeBlocks(m.chat.Log)
	if len(found) == 0 {
		return m.Say("there is no block of code in the answers")
	}
	ofLast := 0
	for _, b := range found {
		if b.last {
			ofLast++
		}
	}
	if len(found) == 1 || ofLast == 1 && m.copied != found[0].code {
		m.copied = found[0].code
		return copyBlock(m, m.copied)
	}
	items := make([]item, len(found))
	for i, b := range found {
		first, _, _ := strings.Cut(strings.TrimSpace(b.code), "\n")
		detail := human.Lines(b.code)
		if !b.last {
			detail += " · an earlier answer"
		}
		items[i] = item{
			name: strconv.Itoa(i+1) + "  " + safe.Line(first), detail: detail,
			pick: func() tea.Cmd { return copyBlock(m, b.code) },
		}
	}
	p := newPicker("Blocks of code", items)
	if m.copied == found[0].code {
		p.move(1) // that one is copied
	}
	m.open = p
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
	m.open = &helper{title: "Help", rows: helpRows()}
	return nil
}

// Sheet implements [session.View].
func (m *model) Sheet(title string, rows [][2]string) { m.open = &helper{title: title, rows: rows} }

// chose implements [view].
func (m *model) chose(id string) tea.Cmd { return m.Say("the next question uses " + id) }

func (m *model) quit() tea.Cmd { return tea.Quit }

func (m *model) config() Config { return m.cfg }
