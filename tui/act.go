package tui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/editor"
	"github.com/ohgw/ohgw/tui/markdown"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
)

// enter sends what is written, or does the command that it is.
func (m *model) enter() tea.Cmd {
	text := m.input.Value()
	if strings.TrimSpace(text) == "" && len(m.images) == 0 {
		return nil
	}
	if name, rest, ok := slash(text); ok {
		return m.slash(name, rest)
	}
	if strings.TrimSpace(text) == "" {
		return m.say("write something about the picture, too")
	}
	if m.chosen == "" {
		return m.say("not sent yet: there is no model; your text stays here")
	}
	o := outgoing{text: text, shown: safe.Text(m.input.Shown()), images: m.images}
	m.sent(text)
	m.restoreDraft()
	m.images = nil
	m.log.Bottom()
	return m.submit(o)
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
	if m.turn != nil {
		m.stop()
		return m.say("stopped; Ctrl+C twice leaves")
	}
	if m.leaving {
		return tea.Quit
	}
	cmd := m.say("Ctrl+C again leaves")
	m.leaving = true
	return cmd
}

// escape closes what is open, or stops the run.
func (m *model) escape() tea.Cmd {
	switch {
	case m.turn != nil:
		m.stop()
		return m.say("stopped; what came stays")
	case !m.log.Following():
		m.log.Bottom()
	}
	m.log.Mark("")
	return nil
}

// command does what a key and a slash command share.
func (m *model) command(do action) tea.Cmd {
	switch do {
	case pickModel:
		m.dialog = newPicker(pickModels, "Models", m.modelItems())
		return tea.Batch(m.connect(), m.startTicking())
	case newConversation:
		return m.begin(Conversation{ID: m.cfg.NewID(), Place: m.cfg.Place.Title}, "New conversation.")
	case resume:
		if m.cfg.Recent == nil {
			return m.say("conversations are not kept here; /resume ID takes one up")
		}
		return listRecent(m.ctx, m.cfg.Recent)
	case retry:
		return m.retry()
	case copyAnswer:
		a := m.log.LastAnswer()
		if a == nil || a.Answer() == "" {
			return m.say("there is no answer to copy")
		}
		text := a.Answer()
		return copyText(m.ctx, m.cfg.Copy, text, "the answer, "+editor.Size(int64(len(text))))
	case copyCode:
		return m.pickCode()
	case copyID:
		return copyText(m.ctx, m.cfg.Copy, m.convo.ID, "the id "+m.convo.ID)
	case help:
		m.openHelp()
	}
	return nil
}

// begin goes on with another conversation.
func (m *model) begin(c Conversation, note string) tea.Cmd {
	if m.turn != nil {
		m.stop()
	}
	m.convo, m.tokens, m.card, m.last, m.lastErr, m.ignored = c, [2]int64{}, nil, nil, nil, ""
	m.log.Clear()
	m.note(note)
	return nil
}

func (m *model) recalled(msg recentMsg) tea.Cmd {
	if msg.err != nil {
		m.complain("The list of conversations cannot be read: " + msg.err.Error())
		return nil
	}
	if len(msg.list) == 0 {
		return m.say("there is no earlier conversation")
	}
	items := make([]item, len(msg.list))
	for i, c := range msg.list {
		name := safe.Line(c.Title)
		if name == "" {
			name = safe.Line(c.ID)
		}
		items[i] = item{name: name, detail: ago(m.cfg.Now().Sub(c.Used)) + " · " + safe.Line(c.Model) + " · " + shortID(c.ID), value: c}
	}
	m.dialog = newPicker(pickConversations, "Conversations", items)
	return nil
}

// modelItems are the models to choose from. One without an agent is for those
// who name it.
func (m *model) modelItems() []item {
	items := make([]item, 0, len(m.models))
	for _, x := range m.models {
		if x.Plain && x.ID != m.chosen {
			continue
		}
		detail := safe.Line(x.Description)
		if x.ID == m.chosen {
			detail = strings.TrimPrefix(detail+" · in use", " · ")
		}
		items = append(items, item{name: safe.Line(x.ID), detail: detail, value: x.ID})
	}
	return items
}

// pickCode copies the block of code of the last answer, or asks which.
func (m *model) pickCode() tea.Cmd {
	var found []string
	if a := m.log.LastAnswer(); a != nil {
		found = markdown.Code(a.Source())
	}
	switch len(found) {
	case 0:
		return m.say("there is no block of code in the last answer")
	case 1:
		return m.copyBlock(found[0])
	}
	items := make([]item, len(found))
	for i, code := range found {
		first, _, _ := strings.Cut(strings.TrimSpace(code), "\n")
		items[i] = item{name: strconv.Itoa(i+1) + "  " + safe.Line(first), detail: lineCount(code), value: code}
	}
	m.dialog = newPicker(pickBlocks, "Blocks of code", items)
	return nil
}

func (m *model) copyBlock(code string) tea.Cmd {
	return copyText(m.ctx, m.cfg.Copy, code, "the code, "+lineCount(code))
}

// picked does what the chosen item of a list is for.
func (m *model) picked(kind pickerKind, it item) tea.Cmd {
	switch v := it.value.(type) {
	case string:
		if kind == pickBlocks {
			return m.copyBlock(v)
		}
		m.chosen = v
		return tea.Batch(m.say("the next question goes to "+v), m.next())
	case Conversation:
		if v.Model != "" {
			m.chosen = v.Model
		}
		return m.begin(v, "Going on with “"+title(v.Title)+"” ("+v.ID+"). The agent remembers it; what was said is not shown here.")
	}
	return nil
}

// wholeText is the conversation as a Markdown document.
func (m *model) wholeText() string {
	var b strings.Builder
	for _, msg := range m.log.Messages() {
		switch msg := msg.(type) {
		case *transcript.Question:
			b.WriteString("## You\n\n" + msg.Text() + "\n\n")
		case *transcript.Answer:
			b.WriteString("## " + m.modelName() + "\n\n" + msg.Source() + "\n\n")
		}
	}
	return b.String()
}
