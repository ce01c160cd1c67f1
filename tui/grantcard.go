package tui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/session"
)

// grantChoice is an answer on the card about something that the sandbox refused.
type grantChoice struct {
	do               action
	scope            gateway.Scope
	key, long, short string
}

// grantChoices are the answers, in the order of the card. The last one is chosen
// when the card opens: an Enter that was meant for something else allows nothing.
var grantChoices = []grantChoice{
	{grantOnce, gateway.GrantOnce, "o", "once", "once"},
	{grantConversation, gateway.GrantConversation, "c", "conversation", "conv."},
	{grantWorkspace, gateway.GrantWorkspace, "w", "workspace", "worksp."},
	{grantNothing, gateway.GrantNothing, "n", "no", "no"},
}

// granting is the choice on the card about a refusal.
type granting struct {
	block *session.Block
	at    int // of grantChoices
}

// asked is the refusal that the card is about, or nil; with the choice on it.
func (m *model) asked() (*session.Block, *int) {
	b := m.chat.Sandbox.Asked
	if m.chat.Pending != nil && m.chat.Turn == nil {
		b = nil // One card at a time.
	}
	if b != m.granting.block {
		m.granting = granting{b, len(grantChoices) - 1}
	}
	return b, &m.granting.at
}

// grantCard asks whether something that was refused may be done after all.
func (m *model) grantCard(b *session.Block, at int) *card {
	c := &card{look: m.looks.warn, title: "Allow this in the sandbox?", lines: []string{"  " + b.What()}}
	if b.Why != "" {
		c.lines = append(c.lines, human.Sentence(b.Why)+".")
	}
	if b.Held {
		left := max(0, b.Until.Sub(m.cfg.Now()).Round(time.Second))
		c.lines = append(c.lines, "The program waits for your answer: "+human.Duration(left)+".")
	}
	var options []string
	for i, o := range grantChoices {
		if m.width < 38 && i != at && o.do != grantOnce && o.do != grantNothing {
			continue // The keys work nevertheless.
		}
		text := o.key + " " + o.label(m.width)
		if i == at {
			options = append(options, paint(m.looks.picked, "› "+text))
		} else {
			options = append(options, paint(m.looks.accent, o.key)+text[1:])
		}
	}
	gap := "   "
	if m.width < 58 {
		gap = "  "
	}
	c.keys = strings.Join(options, gap)
	return c
}

// label is what the choice does, as long as there is room.
func (c grantChoice) label(width int) string {
	if width >= 58 {
		return c.long
	}
	return c.short
}

// grantKey takes a key for the card about a refusal, while nothing is written. It
// reports whether it was one.
func (m *model) grantKey(do action) (tea.Cmd, bool) {
	b, at := m.asked()
	if b == nil || !m.input.Empty() {
		return nil, false
	}
	switch do {
	case moveLeft:
		*at = max(*at-1, 0)
	case moveRight:
		*at = min(*at+1, len(grantChoices)-1)
	case complete:
		*at = (*at + 1) % len(grantChoices)
	case send:
		return m.chat.Sandbox.Grant(m.chat.Convo.ID, grantChoices[*at].scope), true
	case stop:
		m.chat.Sandbox.LeaveOpen()
	default:
		return nil, false
	}
	return nil, true
}

// grant decides by the letter of a choice.
func (m *model) grant(do action) tea.Cmd {
	i := slices.IndexFunc(grantChoices, func(c grantChoice) bool { return c.do == do })
	return m.chat.Sandbox.Grant(m.chat.Convo.ID, grantChoices[i].scope)
}

// Offer implements [session.View]: the text stands in the input, if that is empty.
func (m *model) Offer(text string) {
	if m.input.Empty() && !m.input.holds() && !m.input.recalls() {
		m.input.Set(text)
	}
}
