package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/daemon/run/repeat"
	"github.com/ohgw/ohgw/daemon/run/sharing"
)

const (
	// claimTime is how long a request waits for a job of its run that is about to begin
	// here, or to end.
	claimTime  = 5 * time.Second
	claimAgain = 20 * time.Millisecond
)

var errSettling = errors.New("an earlier job of the same run has not ended yet")

// admit does what [Manager.Admit] does where several gateways answer as one.
func (p *peers) admit(req Request) (*Attachment, error) {
	ctx, cancel := context.WithTimeout(p.m.life, claimTime)
	defer cancel()
	for {
		q, err := p.question(req)
		if err != nil {
			return nil, err
		}
		c, s, err := p.claimOf(req)
		if err != nil {
			return nil, err
		}
		joined := ledger.Past{}
		c.Joins = p.rule(req, q, &joined)
		f, err := p.ledger.Claim(ctx, c)
		if err != nil {
			return nil, p.refusal(req, err)
		}
		a, err := p.take(req, s, f, q)
		if !errors.Is(err, errSettling) {
			if err == nil && (joined.Owed > 0 || joined.Run != 0 && req.Retry && !joined.Ended) {
				a.cameBack()
			}
			return a, err
		}
		if !sharing.Rest(ctx, claimAgain) {
			return nil, fmt.Errorf("%w: %w", ErrLedger, err)
		}
	}
}

// question returns what the rules of joining know of req. The error refuses it before
// anything is claimed.
func (p *peers) question(req Request) (repeat.Question, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	switch {
	case p.m.draining:
		return repeat.Question{}, ErrReleased
	case req.Gone != nil && !req.Detach && req.Gone():
		return repeat.Question{}, ErrGone
	}
	return repeat.Question{Retry: req.Retry, Refused: req.Retry && p.m.refused.Expects(req.Fingerprint, p.m.cfg.Now())}, nil
}

// claimOf returns the claim of a request, and what its job would share.
func (p *peers) claimOf(req Request) (ledger.Claim, *share, error) {
	key := recordKey(req.Token, req.IdempotencyKey)
	s := &share{p: p, conversation: req.ConversationID, keyed: key != "", fresh: key == "" || req.Made || req.Keep}
	if s.conversation == "" {
		s.conversation = newID()
		if s.keyed && !req.Keep {
			s.conversation = sharing.Conversation(key)
		}
	}
	s.about = sharing.About{
		Answer: strings.ReplaceAll(newID(), "-", ""), Created: p.m.cfg.Now(), Profile: req.Profile, Who: req.Who, Detach: req.Detach,
		OneShot: req.ConversationID == "" && !req.Keep, Timeout: req.Timeout, Decided: req.Decision != nil && req.Decision.Accept,
	}
	data, err := s.about.Bytes()
	if err != nil {
		return ledger.Claim{}, nil, fmt.Errorf("%w: %w", ErrLedger, err)
	}
	c := ledger.Claim{Token: req.Token, Print: req.Fingerprint[:], Conversation: s.conversation, Request: data, Revision: req.ProfileRevision, Once: s.about.OneShot && p.m.cfg.Shots != nil}
	if s.keyed {
		c.Key = []byte(key)
	}
	return c, s, nil
}

// told is an earlier run as the ledger has it.
type told struct {
	at      int
	history repeat.History
}

// History implements [repeat.Run].
func (t told) History() repeat.History { return t.history }

// rule returns the rule of joining for the ledger; nil: the request is a run of its own, or
// its key says which. Joined is set to the run that it chose.
func (p *peers) rule(req Request, q repeat.Question, joined *ledger.Past) func([]ledger.Past) int {
	if req.IdempotencyKey != "" || req.Fresh {
		return nil
	}
	return func(past []ledger.Past) int {
		*joined = ledger.Past{}
		if len(past) == 0 {
			return -1
		}
		var known repeat.Index[told]
		p.m.mu.Lock()
		for i, earlier := range past {
			known.Add(told{at: i, history: p.historyOf(earlier)})
		}
		p.m.mu.Unlock()
		found, ok := known.Find(q, func(_ told, was string) bool { return was != req.ProfileRevision }, past[0].Now)
		if !ok {
			return -1
		}
		*joined = past[found.at]
		return found.at
	}
}

// historyOf returns what is known of an earlier run: of what the clients of this gateway did,
// the ledger hears a moment later. The caller holds the manager's mutex.
func (p *peers) historyOf(past ledger.Past) repeat.History {
	h := repeat.History{
		Stopped: past.Stopped, Ended: past.Ended, Failed: past.Failed, Owed: past.Owed, Revision: past.Revision,
		EndedAt: past.EndedAt, Deliveries: past.Deliveries, FirstDeliver: past.FirstAt, LastDeliver: past.DeliveredAt,
	}
	j := p.jobs[past.Run]
	if j == nil {
		return h
	}
	local := j.History()
	h.Owed += int(j.share.untold.Load()) + j.delivery.hungUp()
	h.Stopped = h.Stopped || local.Stopped && j.share.own.Load()
	if local.Deliveries > h.Deliveries {
		h.Deliveries, h.FirstDeliver, h.LastDeliver = local.Deliveries, local.FirstDeliver, local.LastDeliver
	}
	return h
}

// refusal returns why the ledger has no run for a request.
func (p *peers) refusal(req Request, err error) error {
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
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	p.m.refused.Note(req.Fingerprint, p.m.cfg.Now())
	return err
}

// take attaches req to the job of the run that the ledger has found for it: one that
// is there, or a new one. A ticket that no job has goes back to the ledger.
func (p *peers) take(req Request, s *share, f ledger.Found, q repeat.Question) (*Attachment, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if j := p.jobs[f.Run]; j != nil {
		if !j.share.takesClients(j) {
			p.giveBack(f)
			return nil, errSettling
		}
		if f.Kind == ledger.Taken && j.share.own.Load() { // else the job sees for itself that the run is this gateway's
			p.giveBack(f)
		}
		return j.joinShared(req), nil
	}
	switch {
	case f.Kind == ledger.Here: // its job is about to be there, or its end about to be known
		return nil, errSettling
	case p.m.draining:
		p.giveBack(f)
		return nil, ErrReleased
	}
	if req.ConversationID != "" {
		req.ConversationID = f.Conversation
	}
	if err := p.m.lineUp(&req); err != nil {
		p.giveBack(f)
		return nil, err
	}
	if f.Kind == ledger.Mine && q.Refused {
		p.m.refused.Came(req.Fingerprint)
	}
	return p.begin(req, s, f), nil
}

// giveBack returns a ticket that no job has.
func (p *peers) giveBack(f ledger.Found) {
	switch f.Kind {
	case ledger.Mine:
		p.teller.Mention("a run has no job", func(ctx context.Context, l ledger.Ledger) error { return l.Drop(ctx, f.Ticket) })
	case ledger.Taken:
		p.teller.Mention("a run has no job", func(ctx context.Context, l ledger.Ledger) error { return l.Release(ctx, f.Ticket) })
	default:
	}
}

// joinShared is join for a job of the ledger's run.
func (j *job) joinShared(req Request) *Attachment {
	a := j.join(req)
	if j.share.spectator && j.share.there {
		j.share.watch()
	}
	if a.took {
		j.share.left(true)
	}
	return a
}

// begin starts a job for a run of the ledger. The caller holds the manager's mutex.
func (p *peers) begin(req Request, s *share, f ledger.Found) *Attachment {
	mine := f.Kind == ledger.Mine
	s.run, s.conversation = f.Run, f.Conversation
	j := p.m.newJob(req, s.adopt(f), s)
	if l := p.m.queues[req.Origin]; req.Origin != "" && l != nil && mine {
		j.before = l.leave(req.Token)
	}
	a := j.attach(req.Gone)
	if !mine {
		a.replayed = true
		j.delivery.repeat(a, req)
	}
	p.jobs[s.run] = j
	p.m.start(j)
	return a
}

// forget lets no request find an ended job any more. The caller holds the manager's mutex.
func (p *peers) forget(j *job) {
	if p != nil && j.share != nil && p.jobs[j.share.run] == j {
		delete(p.jobs, j.share.run)
	}
}

// releaseWaiting gives the jobs that wait to other gateways. The caller holds the
// manager's mutex.
func (p *peers) releaseWaiting() {
	if p == nil {
		return
	}
	for _, q := range p.m.queues {
		for _, j := range slices.Clone(q.jobs) {
			if j.share != nil && !j.life.isSent() {
				j.life.halt(ErrReleased)
			}
		}
	}
}

// cameBack notes that a is a client whose answer was owed by another gateway.
func (a *Attachment) cameBack() {
	if !a.took {
		a.took = true
		a.job.share.left(true)
	}
}
