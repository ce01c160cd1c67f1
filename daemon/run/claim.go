package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

const (
	// claimTime is how long a request waits for a job of its run that is about to begin
	// here, or to end.
	claimTime  = 5 * time.Second
	claimAgain = 20 * time.Millisecond
)

var errSettling = errors.New("an earlier job of the same run has not ended yet")

// admitShared is Admit where several gateways answer as one.
func (m *Manager) admitShared(req Request) (*Attachment, error) {
	ctx, cancel := context.WithTimeout(m.life, claimTime)
	defer cancel()
	for {
		if err := m.mayAdmit(req); err != nil {
			return nil, err
		}
		c, s := m.claimOf(req)
		q := m.question(req)
		joined := ledger.Past{}
		c.Joins = m.rule(req, q, &joined)
		f, err := m.cfg.Ledger.Claim(ctx, c)
		if err != nil {
			return nil, m.refusal(req, err)
		}
		a, back, err := m.take(req, s, f, q)
		if back != nil {
			m.mention(back)
		}
		if !errors.Is(err, errSettling) {
			if err == nil && (joined.Owed > 0 || joined.Run != 0 && req.Retry && !joined.Ended) {
				a.cameBack()
			}
			return a, err
		}
		select {
		case <-time.After(claimAgain):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrLedger, err)
		}
	}
}

// mayAdmit refuses what no run is claimed for.
func (m *Manager) mayAdmit(req Request) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.draining {
		return ErrReleased
	}
	if req.Gone != nil && !req.Detach && req.Gone() {
		return ErrGone
	}
	return nil
}

// question is what the rules of joining know of req.
func (m *Manager) question(req Request) question {
	m.mu.Lock()
	defer m.mu.Unlock()
	return question{retry: req.Retry, refused: req.Retry && m.refused.expects(req.Fingerprint, m.cfg.Now()), revision: req.ProfileRevision}
}

// rule is the rule of joining for the ledger; nil: every request is a run of its own.
// joined is set to the run that it chose.
func (m *Manager) rule(req Request, q question, joined *ledger.Past) func([]ledger.Past) int {
	if req.IdempotencyKey != "" || req.Fresh {
		return nil
	}
	return func(past []ledger.Past) int {
		*joined = ledger.Past{}
		if len(past) == 0 {
			return -1
		}
		known := make([]history, len(past))
		m.mu.Lock()
		for i, p := range past {
			known[i] = m.historyOf(p)
		}
		m.mu.Unlock()
		i := joins(known, q, past[0].Now)
		if i >= 0 {
			*joined = past[i]
		}
		return i
	}
}

// historyOf is what is known of an earlier run: what the clients of this gateway did,
// the ledger hears a moment later. The caller holds m.mu.
func (m *Manager) historyOf(p ledger.Past) history {
	h := history{
		stopped: p.Stopped, ended: p.Ended, failed: p.Failed, owed: p.Owed, revision: p.Revision,
		endedAt: p.EndedAt, deliveries: p.Deliveries, firstDeliver: p.FirstAt, lastDeliver: p.DeliveredAt,
	}
	j := m.shared[p.Run]
	if j == nil {
		return h
	}
	local := j.history()
	h.owed += int(j.share.untold.Load()) + j.delivery.hungUp()
	h.stopped = h.stopped || local.stopped && j.share.own.Load()
	if local.deliveries > h.deliveries {
		h.deliveries, h.firstDeliver, h.lastDeliver = local.deliveries, local.firstDeliver, local.lastDeliver
	}
	return h
}

// refusal is why the ledger has no run for a request.
func (m *Manager) refusal(req Request, err error) error {
	switch {
	case errors.Is(err, ledger.ErrConflict):
		return ErrKeyConflict
	case errors.Is(err, ledger.ErrLaneFull):
		err = ErrConversationBusy
	case errors.Is(err, ledger.ErrQueueFull):
		err = ErrQueueFull
	default:
		return fmt.Errorf("%w: %w", ErrLedger, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused.note(req.Fingerprint, m.cfg.Now())
	return err
}

// take attaches req to the job of the run that the ledger has found for it: one that
// is there, or a new one. back gives a ticket back that no job has.
func (m *Manager) take(req Request, s *share, f ledger.Found, q question) (a *Attachment, back func(context.Context, ledger.Ledger) error, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mine := f.Kind == ledger.Mine
	if mine || f.Kind == ledger.Taken {
		back = func(ctx context.Context, l ledger.Ledger) error {
			if mine {
				return l.Drop(ctx, f.Ticket)
			}
			return l.Release(ctx, f.Ticket)
		}
	}
	if j := m.shared[f.Run]; j != nil {
		if !j.takesClients() {
			return nil, back, errSettling
		}
		if f.Kind == ledger.Taken && !j.share.own.Load() { // the job sees for itself that the run is this gateway's
			back = nil
		}
		return j.joinShared(req, s), back, nil
	}
	switch {
	case f.Kind == ledger.Here: // its job is about to be there, or its end about to be known
		return nil, nil, errSettling
	case m.draining:
		return nil, back, ErrReleased
	}
	if err := m.lineUp(&req); err != nil {
		return nil, back, err
	}
	if mine && q.refused {
		m.refused.came(req.Fingerprint)
	}
	return m.shareJob(req, s, f), nil, nil
}

// joinShared is join for a job of the ledger's run, which may have been made for nobody.
func (j *job) joinShared(req Request, s *share) *Attachment {
	if req.Observer != nil {
		j.observe(req.Observer)
	}
	a := j.join(req)
	if j.req.spectator && j.share.there {
		j.watched()
	}
	if a.took && !s.keyed {
		j.left(true)
	}
	return a
}

// shareJob starts a job for a run of the ledger. The caller holds m.mu.
func (m *Manager) shareJob(req Request, s *share, f ledger.Found) *Attachment {
	mine := f.Kind == ledger.Mine
	s.run, s.conversation = f.Run, f.Conversation
	follow := s.adopt(f)
	req.share = s
	j := m.newJob(req, follow)
	if l := m.queues[req.Origin]; req.Origin != "" && l != nil && mine {
		j.before = l.leave(req.Token)
	}
	var a *Attachment
	if mine {
		a = j.attach(req.Gone)
	} else {
		a = j.join(req)
		a.begins = follow == nil
	}
	m.start(j)
	return a
}

// adopt takes what was found into the share of a job, and gives the record that the
// job follows; nil: its run is still to be begun.
func (s *share) adopt(f ledger.Found) *record {
	s.ticket, s.slot, s.noted = f.Ticket, f.Slot, f.Noted && s.about.OneShot
	s.own.Store(f.Kind == ledger.Mine || f.Kind == ledger.Taken || f.Kind == ledger.Here)
	s.there = f.Kind == ledger.There
	if f.Kind == ledger.Mine {
		return nil
	}
	s.fresh, s.seen = false, true
	if a := aboutOf(f.Request); a.Answer != "" {
		s.about = a
	}
	if s.own.Load() && f.Phase == ledger.Queued {
		return nil
	}
	return follows(f)
}

// takesClients reports whether a request for the run of the job can have its answer.
func (j *job) takesClients() bool {
	if j.life.gaveUp() || j.life.failedEarly() != nil {
		return false
	}
	return j.share.own.Load() || !j.life.isEnding()
}

// left tells the ledger that a client of the run went away, or came back.
func (j *job) left(back bool) {
	by := int64(1)
	if back {
		by = -1
	}
	j.share.untold.Add(by)
	j.m.mention(func(ctx context.Context, l ledger.Ledger) error {
		defer j.share.untold.Add(-by)
		return l.Left(ctx, j.share.run, back)
	})
}

// cameBack notes that a is a client whose answer was owed by another gateway.
func (a *Attachment) cameBack() {
	if !a.took {
		a.took = true
		a.job.left(true)
	}
}
