package run

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/agentapi"
)

// errRunning refuses to summarize a conversation that has a request.
var errRunning = &agentapi.Error{
	Kind: agentapi.ErrBusy,
	Msg:  "The conversation is running a request; it can be summarized when that is done.",
}

// leaveWait bounds the wait for jobs that have ended to leave their queue: their
// clients know the end a moment earlier.
const leaveWait = 10 * time.Second

// Condense replaces what was said earlier in a conversation by a summary, for its
// model. Requests that come meanwhile wait for the end of it.
func (m *Manager) Condense(ctx context.Context, a Access, conversation string) (agentapi.Condensed, error) {
	return within(m, a, conversation, func(id string) (agentapi.Condensed, error) { return m.condense(ctx, id) })
}

func (m *Manager) condense(ctx context.Context, conversation string) (agentapi.Condensed, error) {
	none := agentapi.Condensed{}
	release, err := m.rested(ctx, conversation)
	if err != nil {
		return none, err
	}
	defer release()
	conv, err := m.cfg.Backend.Open(ctx, agentapi.OpenRequest{ID: conversation, Existing: true})
	if err != nil {
		return none, err
	}
	defer conv.Close()
	return conv.Condense(ctx)
}

// rested takes the queue of a conversation in which nothing runs or waits.
func (m *Manager) rested(ctx context.Context, conversation string) (release func(), err error) {
	limit := time.NewTimer(leaveWait)
	defer limit.Stop()
	for {
		if release, ok := m.clear(conversation); ok {
			return release, nil
		}
		if m.occupied(conversation) {
			return nil, errRunning
		}
		select {
		case <-limit.C:
			return nil, errRunning
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(stoppedAgain):
		}
	}
}

// occupied reports whether a job, or other work such as a removal, has the
// conversation or waits for it.
func (m *Manager) occupied(conversation string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[conversation]
	return q != nil && (q.cleared || q.busy())
}
