package session

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/transcript"
)

// stoppedMsg has the latest items of a conversation after its run was stopped.
type stoppedMsg struct {
	conversation string
	answer       *transcript.Answer
	tries        int
	items        []gateway.Item
}

// A command that is stopped has its result when it has obeyed, which may take seconds.
const (
	maxLooks  = 6
	firstLook = 250 * time.Millisecond // each later one takes twice as long
	lastItems = 50
)

// lookBack asks what the actions have brought that a stop cut off in a conversation. The stream of the run
// ended before their results.
func (s Kept) lookBack(id string, a *transcript.Answer, tries int) tea.Cmd {
	if s.cfg.History == nil || tries == maxLooks || len(a.CutOff()) == 0 {
		return nil
	}
	history, ctx := s.cfg.History, s.ctx
	return tea.Tick(firstLook<<tries, func(time.Time) tea.Msg {
		items, _, _ := history.Earlier(ctx, id, lastItems) // without them the next look may have more
		return stoppedMsg{conversation: id, answer: a, tries: tries, items: items}
	})
}

// cutOff takes in what the actions of a stopped answer have brought, unless another
// conversation was chosen meanwhile.
func (s *Session) cutOff(msg stoppedMsg) tea.Cmd {
	if msg.conversation != s.Convo.ID {
		return nil
	}
	for _, item := range msg.items {
		if item.Kind != gateway.Did || !msg.answer.Has(item.Call.ID) {
			continue
		}
		if act := ActionOf(*item.Call); act.State != transcript.Running && act.State != transcript.Waiting {
			msg.answer.Act(act)
		}
	}
	return s.Kept.lookBack(msg.conversation, msg.answer, msg.tries+1)
}
