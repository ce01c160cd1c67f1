package session

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
)

// Kept is what the gateway and this machine keep of conversations.
type Kept struct{ *core }

// Recent lists the conversations that can be gone on with, narrowed by a query.
func (s Kept) Recent(query string) tea.Cmd {
	if s.cfg.Recent == nil {
		return s.view.Say("conversations are not stored on this machine; use /resume ID")
	}
	return s.Work(listRecent(s.ctx, s.cfg.Recent, query, ""))
}

// removed follows the removal of a conversation.
type removedMsg struct {
	convo Conversation
	err   error
}

// Remove deletes a conversation at the gateway and in the list of this machine.
func (s Kept) Remove(c Conversation) tea.Cmd {
	history, recent := s.cfg.History, s.cfg.Recent
	ctx := context.WithoutCancel(s.ctx)
	return s.Work(func() tea.Msg {
		if history != nil {
			if err := history.Delete(ctx, c.ID); err != nil && !gateway.IsUnknown(err) {
				return removedMsg{c, err}
			}
		}
		if recent == nil {
			return removedMsg{c, nil}
		}
		return removedMsg{c, recent.Forget(ctx, c.ID)}
	})
}
