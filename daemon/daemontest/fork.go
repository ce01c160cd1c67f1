package daemontest

import (
	"context"
	"slices"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Fork implements [agentapi.Conversation].
func (h *handle) Fork(_ context.Context, req agentapi.ForkRequest) (agentapi.Conversation, error) {
	if h.b.NoFork {
		return nil, &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "This agent-server cannot copy a conversation."}
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	if h.b.convs[h.req.ID] != h.conversation {
		return nil, notFound(h.req.ID)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	end := len(h.log)
	if req.From != "" {
		end = 1 + slices.IndexFunc(h.log, func(e event.Event) bool { return e.ID == req.From })
	}
	if _, taken := h.b.convs[req.ID]; taken || end == 0 && req.From != "" {
		return nil, &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "There is no such event, or there is such a conversation already."}
	}
	source := h.req
	source.ID, source.Profile = req.ID, h.profile
	fork := newConversation(h.b, source)
	fork.log, fork.next = slices.Clone(h.log[:end]), h.next
	h.b.convs[req.ID] = fork
	h.b.forked = append(h.b.forked, Fork{Source: h.req.ID, ForkRequest: req})
	return &handle{conversation: fork, info: fork.about(true)}, nil
}

// Fork is a copy that was asked for.
type Fork struct {
	agentapi.ForkRequest

	Source string // the conversation it was made of
}

// Forked are the copies that were made.
func (b *Backend) Forked() []Fork {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.forked)
}
