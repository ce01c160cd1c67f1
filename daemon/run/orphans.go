package run

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

const (
	// reapFirst is when a new gateway looks for runs whose gateways are dead: soon, as
	// nobody does where all gateways die within seconds of their start.
	reapFirst = 100 * time.Millisecond
	// reapAgain is when it is looked again.
	reapAgain = 2 * time.Second
)

// reap takes up runs whose gateways are dead, until life ends.
func (m *Manager) reap(life context.Context) {
	var idle map[ledger.Ticket]bool
	for wait := reapFirst; rest(life, wait); wait = reapAgain {
		m.cfg.guard("", func() {
			ctx, cancel := context.WithTimeout(life, ledgerTime)
			defer cancel()
			orphans, err := m.cfg.Ledger.Orphans(ctx)
			if err != nil {
				m.cfg.Logger.Debug("cannot look for runs whose gateways are dead", "err", err)
			}
			for _, f := range orphans {
				m.foster(f)
			}
			idle = m.tidy(ctx, idle)
		})
	}
}

// tidy releases runs of this gateway that have no job: the answer to a claim was lost.
// Those that had none the last time, too, are meant: idle. It gives those of now.
func (m *Manager) tidy(ctx context.Context, idle map[ledger.Ticket]bool) map[ledger.Ticket]bool {
	owned, err := m.cfg.Ledger.Owned(ctx)
	if err != nil {
		return idle
	}
	now := make(map[ledger.Ticket]bool)
	m.mu.Lock()
	for _, t := range owned {
		if j := m.shared[t.Run]; j == nil || j.life.hasEnded() {
			now[t] = true
		}
	}
	m.mu.Unlock()
	for t := range now {
		if idle[t] {
			err = m.cfg.Ledger.Release(ctx, t) // or the next time
			m.cfg.Logger.Info("released a run that had no job", "run", t.Run, "err", err)
		}
	}
	return now
}

// foster looks after a run whose gateway is dead. It goes on without clients if it was
// to, and else for the grace.
func (m *Manager) foster(f ledger.Found) {
	a := aboutOf(f.Request)
	req := Request{Access: Access{Token: f.Token}, Who: a.Who, Profile: a.Profile, Detach: a.Detach, Timeout: a.Timeout, ConversationID: f.Conversation}
	if a.OneShot {
		req.ConversationID = ""
	}
	copy(req.Fingerprint[:], f.Print)
	if m.cfg.Orphan != nil {
		req.Observer, req.Form = m.cfg.Orphan(f.Conversation, a.Answer)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.shared[f.Run]
	switch {
	case j != nil && !j.share.own.Load() && j.takesClients(): // it sees for itself that the run is this gateway's
	case j != nil || m.draining:
		m.mention(func(ctx context.Context, l ledger.Ledger) error { return l.Release(ctx, f.Ticket) })
	default:
		m.cfg.Logger.Info("taking over the run of a gateway that is gone", "conversation_id", f.Conversation)
		a := m.shareJob(req, &share{}, f)
		a.closed = true
		a.job.lose(a, false, false)
	}
}

// releaseWaiting gives the jobs that wait to other gateways. The caller holds m.mu.
func (m *Manager) releaseWaiting() {
	for _, q := range m.queues {
		for _, j := range q.jobs {
			if j.share != nil && !j.life.isSent() {
				j.life.halt(ErrReleased)
			}
		}
	}
}

// abandon interrupts the job if no client is attached to it, here or elsewhere.
func (j *job) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), ledgerTime)
	defer cancel()
	watched, err := j.m.cfg.Ledger.Watched(ctx, j.share.run)
	d := &j.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.isWanted() || !j.life.goesOn():
	case !watched && err == nil:
		j.life.halt(ErrAbandoned)
	default: // it is looked again
		if d.grace != nil {
			d.grace.Stop()
		}
		d.grace = time.AfterFunc(j.m.cfg.Grace, func() { j.m.cfg.guard(j.id, j.supersede) })
	}
}
