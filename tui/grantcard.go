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

// granting is the card about a refusal, with the choice on it.
type granting struct {
	chat  *session.Session
	now   func() time.Time
	block *session.Block // that at is about
	at    int            // of grantChoices
}

// asked returns the refusal that the card is about, or nil. Another refusal sets the
// choice back to the last one.
func (g *granting) asked() *session.Block {
	b := g.chat.Sandbox.Asked
	if g.chat.Pending != nil && g.chat.Turn == nil {
		b = nil // One card at a time.
	}
	if b != g.block {
		g.block, g.at = b, len(grantChoices)-1
	}
	return b
}

// card asks whether something that was refused may be done after all.
func (g *granting) card(l looks, width int, b *session.Block) *card {
	c := &card{look: l.warn, title: "Allow this in the sandbox?", lines: []string{"  " + b.What()}}
	if b.Why != "" {
		c.lines = append(c.lines, human.Sentence(b.Why)+".")
	}
	if b.Held {
		left := max(0, b.Until.Sub(g.now()).Round(time.Second))
		c.lines = append(c.lines, "The program waits for your answer: "+human.Duration(left)+".")
	}
	var options []string
	for i, o := range grantChoices {
		if width < 38 && i != g.at && o.do != grantOnce && o.do != grantNothing {
			continue // The keys work nevertheless.
		}
		text := o.key + " " + o.label(width)
		if i == g.at {
			options = append(options, paint(l.picked, "› "+text))
		} else {
			options = append(options, paint(l.accent, o.key)+text[1:])
		}
	}
	gap := "   "
	if width < 58 {
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

// key takes a key for the card about a refusal, and reports whether it was one.
func (g *granting) key(do action) (tea.Cmd, bool) {
	if g.asked() == nil {
		return nil, false
	}
	switch do {
	case moveLeft:
		g.at = max(g.at-1, 0)
	case moveRight:
		g.at = min(g.at+1, len(grantChoices)-1)
	case complete:
		g.at = (g.at + 1) % len(grantChoices)
	case send:
		return g.grant(grantChoices[g.at].scope), true
	case stop:
		g.chat.Sandbox.LeaveOpen()
	default:
		return nil, false
	}
	return nil, true
}

// choose decides by the letter of a choice.
func (g *granting) choose(do action) tea.Cmd {
	i := slices.IndexFunc(grantChoices, func(c grantChoice) bool { return c.do == do })
	return g.grant(grantChoices[i].scope)
}

func (g *granting) grant(scope gateway.Scope) tea.Cmd {
	return g.chat.Sandbox.Grant(g.chat.Convo.ID, scope)
}
