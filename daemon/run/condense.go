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
	var done agentapi.Condensed
	err := m.rested(ctx, conversation, func(ctx context.Context) error {
		conv, err := m.cfg.Backend.Open(ctx, agentapi.OpenRequest{ID: conversation, Existing: true})
		if err != nil {
			return err
		}
		defer conv.Close()
		done, err = conv.Condense(ctx)
		return err
	})
	return done, err
}

// rested takes the queue of a conversation in which nothing runs or waits, and calls f.
func (m *Manager) rested(ctx context.Context, conversation string, f func(context.Context) error) error {
	limit := time.NewTimer(leaveWait)
	defer limit.Stop()
	for {
		ok, err := m.alone(ctx, conversation, f)
		if ok || err != nil {
			return err
		}
		if m.occupied(conversation) || m.cfg.Shots != nil && !m.IsBusy(conversation) { // at another gateway
			return errRunning
		}
		select {
		case <-limit.C:
			return errRunning
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(stoppedAgain):
		}
	}
}

// occupied reports whether a job has the conversation or waits for it, or
// something that is no job, such as a removal.
func (m *Manager) occupied(conversation string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[conversation]
	return q != nil && (q.cleared || q.busy())
}
