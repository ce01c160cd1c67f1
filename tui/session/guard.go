package session

import (
	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
)

// sandboxMsg is the sandbox of the gateway, or why it is unknown.
type sandboxMsg struct {
	found gateway.Sandbox
	show  bool // the user wants to read it
	err   error
}

// look asks which sandbox there is.
func (s *Sandbox) look(show bool) tea.Cmd {
	guard, ctx := s.cfg.Guard, s.ctx
	if guard == nil {
		return nil
	}
	return func() tea.Msg {
		found, err := guard.Sandbox(ctx)
		return sandboxMsg{found, show, err}
	}
}

// Show shows the sandbox: its level, what is open, and what it refused in
// this conversation.
func (s *Sandbox) Show() tea.Cmd {
	if s.cfg.Guard == nil {
		return s.view.Say("this gateway does not tell about its sandbox")
	}
	return s.Work(s.look(true))
}

// found takes in which sandbox there is.
func (s *Sandbox) found(msg sandboxMsg) {
	if msg.err == nil {
		s.Known = gateway.Sandbox{Level: name(msg.found.Level), Reason: name(msg.found.Reason), Fix: name(msg.found.Fix)}
		for _, o := range msg.found.Open {
			s.Known.Open = append(s.Known.Open, name(o))
		}
	}
	switch {
	case !msg.show:
	case msg.err != nil:
		s.Note("The sandbox is not known: "+human.Sentence(safe.Text(asGateway(msg.err).Message)), true)
	default:
		s.view.Sheet("Sandbox", s.rows())
	}
}

// rows lists a name and a text for each thing to know about the sandbox.
func (s *Sandbox) rows() [][2]string {
	rows := [][2]string{{"level", s.Known.Level}}
	if s.Known.Level == "" {
		rows[0][1] = "not known: this gateway does not tell"
	}
	for _, r := range [][2]string{{"why", s.Known.Reason}, {"to do", s.Known.Fix}} {
		if r[1] != "" {
			rows = append(rows, r)
		}
	}
	for _, o := range s.Known.Open {
		rows = append(rows, [2]string{"open", o})
	}
	for _, b := range s.Blocks {
		what, next := "refused", b.Decided()
		if next == "" {
			next = b.Command()
		}
		rows = append(rows, row(what, b.What(), b.Why, next))
	}
	if s.Allowable(true) != nil {
		rows = append(rows, [2]string{"to do", "/sandbox allow asks about the latest that was refused"})
	}
	return rows
}
