package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/daemon/run/sharing"
)

const (
	// reapFirst is when a new gateway looks for runs whose gateways are dead: soon, since no
	// other one does where all gateways die within seconds of their start.
	reapFirst = 100 * time.Millisecond
	// reapAgain is when it is looked again.
	reapAgain = 2 * time.Second
)

// reap takes up runs whose gateways are dead, until life ends.
func (p *peers) reap(life context.Context) {
	var idle map[ledger.Ticket]bool
	for wait := reapFirst; sharing.Rest(life, wait); wait = reapAgain {
		p.m.cfg.guard("", func() {
			ctx, cancel := context.WithTimeout(life, sharing.CallTime)
			defer cancel()
			orphans, err := p.ledger.Orphans(ctx)
			if err != nil {
				p.m.cfg.Logger.Debug("cannot look for runs whose gateways are dead", "err", err)
			}
			for _, f := range orphans {
				p.foster(f)
			}
			idle = p.releaseIdle(ctx, idle)
		})
	}
}

// releaseIdle releases runs of this gateway that have no job: the answer to a claim was
// lost. Those that had none the last time, too, are meant: idle. It returns those of now.
func (p *peers) releaseIdle(ctx context.Context, idle map[ledger.Ticket]bool) map[ledger.Ticket]bool {
	owned, err := p.ledger.Owned(ctx)
	if err != nil {
		return idle
	}
	now := make(map[ledger.Ticket]bool)
	p.m.mu.Lock()
	for _, t := range owned {
		if j := p.jobs[t.Run]; j == nil || j.life.hasEnded() {
			now[t] = true
		}
	}
	p.m.mu.Unlock()
	for t := range now {
		if idle[t] {
			err := p.ledger.Release(ctx, t) // or the next time
			p.m.cfg.Logger.Info("released a run that had no job", "run", t.Run, "err", err)
		}
	}
	return now
}

// foster looks after a run whose gateway is dead. It goes on without clients if it was
// to, and else for the grace.
func (p *peers) foster(f ledger.Found) {
	a := sharing.Read(f.Request)
	req := Request{
		Asker:  Asker{Access: Access{Token: f.Token}, Who: a.Who},
		Place:  Place{ConversationID: f.Conversation},
		Terms:  Terms{Profile: a.Profile},
		Course: Course{Detach: a.Detach, Timeout: a.Timeout},
	}
	if a.OneShot {
		req.ConversationID = ""
	}
	copy(req.Fingerprint[:], f.Print)
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	j := p.jobs[f.Run]
	switch {
	case j != nil && !j.share.own.Load() && j.share.takesClients(j): // it sees for itself that the run is this gateway's
	case j != nil || p.m.draining:
		p.giveBack(f)
	default:
		p.m.cfg.Logger.Info("taking over the run of a gateway that is gone", "conversation_id", f.Conversation)
		a := p.begin(req, &share{p: p}, f)
		a.closed = true
		a.job.lose(a, false, false)
	}
}

// abandon interrupts the job if no client is attached to it, here or elsewhere.
func (s *share) abandon(j *job) {
	ctx, cancel := context.WithTimeout(s.p.m.life, sharing.CallTime)
	defer cancel()
	watched, err := s.p.ledger.Watched(ctx, s.run)
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

// unwatched lets a run go on that this gateway has taken over for a spectator: without end
// if it was to, and else for the grace.
func (j *job) unwatched(detach bool) {
	j.delivery.mu.Lock()
	j.delivery.detached = detach
	j.delivery.mu.Unlock()
	j.lose(&Attachment{job: j, closed: true}, false, false)
}

// stop stops runs of a conversation on whatever gateway they are, and counts them.
func (p *peers) stop(token, conversation, key string) int {
	if p == nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(p.m.life, unattendedTime)
	defer cancel()
	n, err := p.ledger.Stop(ctx, token, conversation, []byte(recordKey(token, key)), func(ctx context.Context) error { return p.interrupt(ctx, conversation) })
	if err != nil {
		p.m.cfg.Logger.Warn("cannot stop the runs of other gateways", "conversation_id", conversation, "err", err)
	}
	return n
}

// stopAnswer stops the run that gives an answer at whatever gateway it is.
func (p *peers) stopAnswer(conversation, answer string) bool {
	if p == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(p.m.life, unattendedTime)
	defer cancel()
	f, ok, err := p.runOf(ctx, conversation, answer)
	if err == nil && ok && f.Kind != ledger.Closed {
		ok, err = p.ledger.StopRun(ctx, f.Run, func(ctx context.Context) error { return p.interrupt(ctx, conversation) })
	}
	if err != nil {
		p.m.cfg.Logger.Warn("cannot stop the run of another gateway", "conversation_id", conversation, "err", err)
	}
	return ok && err == nil && f.Kind != ledger.Closed
}

// runOf finds the run that gives an answer; false: the ledger has none, or has none any
// more.
func (p *peers) runOf(ctx context.Context, conversation, answer string) (f ledger.Found, ok bool, err error) {
	runs, err := p.ledger.Runs(ctx, conversation)
	if err != nil {
		return f, false, fmt.Errorf("%w: %w", ErrLedger, err)
	}
	for _, f := range runs {
		if recordOf(f).answer == answer {
			return f, true, nil
		}
	}
	return f, false, nil
}

// isBusy reports whether a run of a conversation goes on or waits. Where the ledger does not
// answer, it may.
func (p *peers) isBusy(conversation string) bool {
	if p == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(p.m.life, sharing.CallTime)
	defer cancel()
	runs, err := p.ledger.Runs(ctx, conversation)
	return err != nil || slices.ContainsFunc(runs, func(f ledger.Found) bool { return f.Kind != ledger.Closed })
}

// interrupt interrupts what runs in a conversation.
func (p *peers) interrupt(ctx context.Context, conversation string) error {
	conv, err := p.m.cfg.Backend.Open(ctx, agentapi.OpenRequest{ID: conversation, Existing: true})
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer conv.Close()
	return conv.Interrupt(ctx)
}

// errInLog says that a turn is to be followed by the log of its conversation.
var errInLog = errors.New("the log of the conversation has what there is of the turn")

// rejoin does what [Manager.Rejoin] does where gateways share their runs: the run may go on
// at another one, or its gateway be dead. The job that follows does not keep a run going that
// has no other client. A run that was not sent, and that no gateway is left to send, is
// ErrInterrupted. One that has a job here is errInLog.
func (p *peers) rejoin(req Request, past Past) (*Attachment, error) {
	ctx, cancel := context.WithTimeout(p.m.life, claimTime)
	defer cancel()
	f, ok, err := p.runOf(ctx, past.Conversation, past.Answer)
	if ok && f.Kind != ledger.Closed {
		f, err = p.ledger.Find(ctx, f.Run)
	}
	switch {
	case errors.Is(err, ledger.ErrFenced), err == nil && !ok:
		if past.Base.After == "" { // nothing of it was sent
			return nil, ErrInterrupted
		}
		return nil, errInLog
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrLedger, err)
	case f.Kind == ledger.Taken && f.Phase == ledger.Queued: // its request is gone with its gateway
		p.teller.Mention("a run has no request", func(ctx context.Context, l ledger.Ledger) error { return l.Drop(ctx, f.Ticket) })
		return nil, ErrInterrupted
	}
	req.ConversationID, req.Detach = past.Conversation, true
	if a := p.spectate(req, f); a != nil {
		return a, nil
	}
	return nil, errInLog // its job has another observer
}

// spectate starts a job that follows a run and does not keep it going; nil: there is a job
// of the run.
func (p *peers) spectate(req Request, f ledger.Found) *Attachment {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if p.m.draining || f.Kind == ledger.Here || p.jobs[f.Run] != nil {
		p.giveBack(f)
		return nil
	}
	a := p.begin(req, &share{p: p, spectator: true}, f)
	if f.Kind == ledger.Taken {
		a.job.unwatched(sharing.Read(f.Request).Detach)
	}
	return a
}
