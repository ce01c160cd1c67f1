package session

import (
	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
)

// condensedMsg is what came of a condensation.
type condensedMsg struct {
	convo     Conversation
	condensed gateway.Condensed
	err       error
}

const nothingToShorten = "nothing to shorten yet: the conversation has no earlier messages"

// Condense has the model summarize what was said earlier in the conversation. The
// next question waits for that.
func (s *Session) Condense() (cmd tea.Cmd, ok bool) {
	switch {
	case s.Turn != nil || len(s.Queue) > 0 || s.Working > 0:
		return s.view.Say("not now: the agent is working; /condense works when it is done"), false
	case len(s.Pending) > 0:
		return s.view.Say("not now: an action waits for your answer"), false
	case s.cfg.History == nil:
		return s.view.Say("this gateway cannot shorten a conversation"), true
	case s.Convo.Turns == 0:
		return s.view.Say(nothingToShorten), true
	}
	history, ctx, c := s.cfg.History, s.ctx, s.Convo
	return tea.Batch(s.view.Say("summarizing the earlier conversation"), s.Work(func() tea.Msg {
		done, err := history.Condense(ctx, c.ID)
		return condensedMsg{c, done, err}
	})), true
}

// condensed says what came of it, unless another conversation was chosen
// meanwhile.
func (s *Session) condensed(msg condensedMsg) tea.Cmd {
	if msg.convo.ID != s.Convo.ID {
		return s.Next()
	}
	switch {
	case gateway.IsUnknown(msg.err) || msg.err == nil && !msg.condensed.Done:
		return tea.Batch(s.view.Say(nothingToShorten), s.Next())
	case msg.err != nil:
		s.Note("The conversation was not shortened: "+notShortened(asGateway(msg.err)), true)
		return s.Next()
	}
	said := "The earlier conversation was summarized"
	if d := msg.condensed; d.Before > 0 && d.After > 0 {
		said += "; context about " + human.Short(d.Before) + " → " + human.Short(d.After) + " tokens"
	}
	s.Context.Tokens = msg.condensed.After
	s.Note(said+".", false)
	return s.Next()
}

func notShortened(e *gateway.Error) string {
	if e.Code == "unknown_url" {
		return "this gateway is older than the chat and has no request for it. Update ohgw serve."
	}
	return human.Sentence(safe.Text(e.Message))
}
