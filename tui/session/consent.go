package session

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/transcript"
)

// Consent is an answer to the actions that wait.
type Consent int

// The answers.
const (
	Refuse Consent = iota
	Once           // these actions, now
	Always         // also whenever the same ones wait in this conversation
	All            // also every other action of this conversation
)

// maxCompared is the longest input of an action that is compared with another,
// in bytes. A gateway cuts longer ones.
const maxCompared = 15 << 10

// consent is what the user has agreed to in a conversation.
type consent struct {
	waiting []string        // the actions that wait now; "" is one that cannot be compared
	same    map[string]bool // are accepted
	all     bool            // every action is
}

// Modes are the confirmation modes, with what they mean.
var Modes = [][2]string{
	{"never", "no action waits"},
	{"risky", "actions wait that the model rates as risky"},
	{"always", "every action waits"},
}

// Decide answers the actions that wait.
func (s *Session) Decide(c Consent) tea.Cmd {
	if s.Pending == nil {
		return nil
	}
	var said tea.Cmd
	switch c {
	case Always:
		said = s.view.Say(s.consent.allow())
	case All:
		s.consent.all = true
		said = s.view.Say("all actions of this conversation are accepted; /confirm always asks again")
	case Refuse, Once:
	}
	o := Outgoing{Text: "yes", Shown: "yes", Decision: gateway.Accept}
	if c == Refuse {
		o = Outgoing{Text: "no", Shown: "no", Decision: gateway.Reject}
	}
	s.Queue = append(s.Queue, o)
	return tea.Batch(said, s.Next())
}

// allow accepts the same actions from now on, and returns what the user is to know of it.
func (c *consent) allow() string {
	if len(c.waiting) == 0 || slices.Contains(c.waiting, "") {
		return "accepted once: the action cannot be compared with later ones"
	}
	if c.same == nil {
		c.same = map[string]bool{}
	}
	for _, w := range c.waiting {
		c.same[w] = true
	}
	return "the same action is accepted from now on in this conversation"
}

// waits takes in the actions that wait at the end of an answer. It reports
// whether the user has agreed to all of them before.
func (s *Session) waits(t *Turn, d gateway.Done, notice string) (agreed bool) {
	s.consent.waiting = nil
	for _, a := range t.Answer.Waiting() {
		s.consent.waiting = append(s.consent.waiting, compared(a))
	}
	agreed = s.consent.all || len(s.consent.waiting) > 0 && len(s.consent.waiting) == len(d.Waiting) &&
		!slices.ContainsFunc(s.consent.waiting, func(w string) bool { return !s.consent.same[w] })
	if agreed {
		s.Queue = slices.Insert(s.Queue, 0, Outgoing{Text: "yes", Shown: "yes (accepted by your earlier answer)", Decision: gateway.Accept})
		return true
	}
	s.Pending = pending(d.Waiting, notice)
	return false
}

// compared is all of what an action does; "" if it is not known in full.
func compared(a transcript.Action) string {
	if a.Input == "" || len(a.Input) > maxCompared || strings.Contains(a.Input, "[redacted]") {
		return ""
	}
	return a.Tool + "\x00" + a.Input
}

// SetMode makes the actions of the conversation wait as a mode says, from the
// next message on. It takes back what the user has agreed to.
func (s *Session) SetMode(mode string) (cmd tea.Cmd, done bool) {
	i := slices.IndexFunc(Modes, func(m [2]string) bool { return m[0] == mode })
	if i < 0 {
		return s.view.Say("/confirm needs never, risky or always"), false
	}
	s.Confirmation, s.consent.same, s.consent.all = gateway.Confirmation(mode), nil, false
	s.note("Confirmation, from your next message on: " + mode + " (" + Modes[i][1] + ").")
	return nil, true
}
