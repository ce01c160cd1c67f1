package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// runOf is the run that gives an answer, as the ledger has it; false: it has none, or has
// none any more.
func (m *Manager) runOf(ctx context.Context, conversation, answer string) (f ledger.Found, ok bool, err error) {
	runs, err := m.cfg.Ledger.Runs(ctx, conversation)
	if err != nil {
		return f, false, fmt.Errorf("%w: %w", ErrLedger, err)
	}
	for _, f := range runs {
		if f.Kind == ledger.Closed && follows(f).answer == answer || aboutOf(f.Request).Answer == answer {
			return f, true, nil
		}
	}
	return f, false, nil
}

// rejoinShared is Rejoin where gateways share their runs: the run may go on at another
// one, or its gateway be dead. The job that follows keeps no run from being interrupted
// that nobody else reads. A run that was never sent, and nobody is left to send, is
// ErrInterrupted.
func (m *Manager) rejoinShared(req Request, p Past) (*Attachment, error) {
	ctx, cancel := context.WithTimeout(m.life, claimTime)
	defer cancel()
	f, ok, err := m.runOf(ctx, p.Conversation, p.Answer)
	if ok && f.Kind != ledger.Closed {
		f, err = m.cfg.Ledger.Find(ctx, f.Run)
	}
	switch {
	case errors.Is(err, ledger.ErrFenced), err == nil && !ok:
		if p.Base.After == "" { // nothing of it was sent
			return nil, ErrInterrupted
		}
		return m.follow(req, p) // what there is of it is in the log
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrLedger, err)
	case f.Kind == ledger.Taken && f.Phase == ledger.Queued: // its request is gone with its gateway
		m.mention(func(ctx context.Context, l ledger.Ledger) error { return l.Drop(ctx, f.Ticket) })
		return nil, ErrInterrupted
	}
	req.ConversationID, req.spectator, req.Detach = p.Conversation, true, true
	m.mu.Lock()
	defer m.mu.Unlock()
	if j := m.shared[f.Run]; j != nil && j.takesClients() {
		j.observe(req.Observer)
		return j.attached(), nil
	}
	if m.draining || f.Kind == ledger.Here { // its job is about to be there, or to be gone
		return nil, ErrLedger
	}
	a := m.shareJob(req, &share{}, f)
	if f.Kind == ledger.Taken {
		a.job.unwatch(aboutOf(f.Request).Detach)
	}
	return a, nil
}

// attached is a client that the job does not count.
func (j *job) attached() *Attachment { return &Attachment{job: j, closed: true} }

// unwatch lets a run go on that this gateway has taken over for a spectator: without end
// if it was to, and else for the grace.
func (j *job) unwatch(detach bool) {
	j.delivery.mu.Lock()
	j.delivery.detached = detach
	j.delivery.mu.Unlock()
	j.lose(j.attached(), false, false)
}

// watched notes once that the job has clients.
func (j *job) watched() {
	if j.share.watches.CompareAndSwap(false, true) {
		j.watch(1)
	}
}

// unwatched takes that back.
func (j *job) unwatched() {
	if j.share.watches.Load() {
		j.watch(-1)
	}
}

// watch notes that a client of this gateway waits for the run of another one.
func (j *job) watch(by int) {
	run := j.share.run
	j.m.mention(func(ctx context.Context, l ledger.Ledger) error { return l.Watch(ctx, run, by) })
}

// stopAnswerElsewhere stops the run that gives an answer at whatever gateway it is.
func (m *Manager) stopAnswerElsewhere(conversation, answer string) bool {
	ctx, cancel := context.WithTimeout(m.life, unattendedTime)
	defer cancel()
	f, ok, err := m.runOf(ctx, conversation, answer)
	if err == nil && ok && f.Kind != ledger.Closed {
		ok, err = m.cfg.Ledger.StopRun(ctx, f.Run, func(ctx context.Context) error { return m.interruptNow(ctx, conversation) })
	}
	if err != nil {
		m.cfg.Logger.Warn("cannot stop the run of another gateway", "conversation_id", conversation, "err", err)
	}
	return ok && err == nil
}

// interruptNow interrupts what runs in a conversation.
func (m *Manager) interruptNow(ctx context.Context, conversation string) error {
	conv, err := m.cfg.Backend.Open(ctx, agentapi.OpenRequest{ID: conversation, Existing: true})
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer conv.Close()
	return conv.Interrupt(ctx)
}
