package run

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/toll"
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
// model. The budget pays for it as for a run. Requests that come meanwhile wait for the
// end of it.
func (m *Manager) Condense(ctx context.Context, a Access, conversation string, b *toll.Budget) (agentapi.Condensed, error) {
	if err := b.Check(); err != nil {
		return agentapi.Condensed{}, err
	}
	return within(m, a, conversation, func(id string) (agentapi.Condensed, error) { return m.condense(ctx, id, b) })
}

func (m *Manager) condense(ctx context.Context, conversation string, b *toll.Budget) (agentapi.Condensed, error) {
	var done agentapi.Condensed
	err := vacancy{m}.rested(ctx, conversation, func(ctx context.Context) (err error) {
		done, err = m.condenseAlone(ctx, conversation, b)
		return err
	})
	return done, err
}

// condenseAlone does what [Manager.Condense] does while no run can begin.
func (m *Manager) condenseAlone(ctx context.Context, conversation string, b *toll.Budget) (agentapi.Condensed, error) {
	none := agentapi.Condensed{}
	conv, err := m.cfg.Backend.Open(ctx, agentapi.OpenRequest{ID: conversation, Existing: true})
	if err != nil {
		return none, err
	}
	defer conv.Close()
	if b == nil {
		return conv.Condense(ctx)
	}
	before, err := conv.State(ctx)
	if err != nil {
		return none, err
	}
	usage := turn.UsageOf(before.Stats)
	if err := b.Begin(conversation, usage); err != nil {
		return none, err
	}
	done, err := conv.Condense(ctx)
	uncertain := err != nil && (ctx.Err() != nil || errors.Is(err, agentapi.ErrUncertain))
	m.payCondensed(ctx, conv, b, usage, uncertain)
	return done, err
}

// condensedWait bounds the wait for what a summary has cost.
const condensedWait = 30 * time.Second

// payCondensed pays for a summary. What is not known yet is paid before the next run of the
// conversation.
func (m *Manager) payCondensed(ctx context.Context, conv agentapi.Conversation, b *toll.Budget, before turn.Usage, uncertain bool) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), condensedWait)
	defer cancel()
	after, err := conv.State(limited)
	if err != nil {
		m.cfg.Logger.Warn("cannot count yet what a summary has cost", "conversation_id", conv.Info().ID, "err", err)
		return
	}
	b.Close(turn.UsageOf(after.Stats).Since(before), uncertain)
}

// rested calls f in a conversation in which nothing runs or waits, at any gateway.
func (v vacancy) rested(ctx context.Context, conversation string, f func(context.Context) error) error {
	limit := time.NewTimer(leaveWait)
	defer limit.Stop()
	for {
		if ok, err := v.alone(ctx, conversation, f); ok || err != nil {
			return err
		}
		if v.m.occupied(conversation) || v.m.peers.isBusy(conversation) {
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

// occupied reports whether a job, or other work such as a removal, has the
// conversation or waits for it.
func (m *Manager) occupied(conversation string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[conversation]
	return q != nil && (q.cleared || q.busy())
}
