package ledgertest

import (
	"bytes"
	"context"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// Claim implements ledger.Ledger.
func (r *Replica) Claim(ctx context.Context, c ledger.Claim) (ledger.Found, error) {
	if err := r.enter(ctx, "claim"); err != nil {
		return ledger.Found{}, err
	}
	unlock, err := r.s.lock(ctx, c.Conversation)
	if err != nil {
		return ledger.Found{}, err
	}
	defer unlock()
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	e, err := r.s.earlier(c)
	if err != nil {
		return ledger.Found{}, err
	}
	if e != nil {
		return r.resolve(e), r.lost("claim")
	}
	if err := r.s.hasRoom(c); err != nil {
		return ledger.Found{}, err
	}
	return r.add(c), r.lost("claim")
}

// add makes a run. The caller holds s.mu.
func (r *Replica) add(c ledger.Claim) ledger.Found {
	s := r.s
	s.last++
	e := &entry{Ticket: ledger.Ticket{Run: s.last, Epoch: 1}, claim: c, owner: r.id, request: c.Request, watchers: make(map[int64]int)}
	e.claim.Joins = nil
	s.runs = append(s.runs, e)
	if s.shots[c.Conversation] == nil {
		s.shots[c.Conversation] = &shot{}
	}
	shot := s.shots[c.Conversation]
	shot.used = s.now()
	if c.Once {
		shot.once = true
	}
	s.wake()
	f := s.found(e)
	f.Kind, f.Slot, f.Noted = ledger.Mine, e.slot, c.Once && !c.Owned // owners are kept elsewhere
	return f
}

// earlier finds the run that answers a request; nil: there is none. The caller holds s.mu.
func (s *State) earlier(c ledger.Claim) (*entry, error) {
	if len(c.Key) > 0 {
		for _, e := range s.runs {
			if e.claim.Token == c.Token && bytes.Equal(e.claim.Key, c.Key) {
				if !bytes.Equal(e.claim.Print, c.Print) {
					return nil, ledger.ErrConflict
				}
				return e, nil
			}
		}
		return nil, nil
	}
	if c.Joins == nil {
		return nil, nil
	}
	var same []*entry
	var past []ledger.Past
	for _, e := range s.runs {
		if e.claim.Token == c.Token && len(e.claim.Key) == 0 && bytes.Equal(e.claim.Print, c.Print) {
			same, past = append(same, e), append(past, s.pastOf(e))
		}
	}
	if i := c.Joins(past); i >= 0 {
		return same[i], nil
	}
	return nil, nil
}

// hasRoom refuses a run for which there is no place. The caller holds s.mu.
func (s *State) hasRoom(c ledger.Claim) error {
	waiting, lane, all, own := 0, 0, 0, 0
	tokens := map[string]bool{c.Token: true}
	for _, e := range s.runs {
		if e.phase == ledger.Ended {
			continue
		}
		all++
		tokens[e.claim.Token] = true
		if e.phase == ledger.Queued && !e.slot {
			waiting++
		}
		if e.claim.Token == c.Token {
			own++
		}
		if e.claim.Conversation == c.Conversation {
			lane++
		}
	}
	places := s.opts.MaxRuns + s.opts.MaxQueue
	if waiting >= s.opts.MaxQueue && all >= places && (s.opts.MaxQueue == 0 || own >= max(1, places/len(tokens))) {
		return ledger.ErrQueueFull
	}
	if lane > s.opts.MaxLane {
		return ledger.ErrLaneFull
	}
	return nil
}

// found is a run as the ledger has it. The caller holds s.mu.
func (s *State) found(e *entry) ledger.Found {
	return ledger.Found{
		Ticket: e.Ticket, Phase: e.phase, Conversation: e.claim.Conversation, Token: e.claim.Token, Print: e.claim.Print,
		Request: e.request, Baseline: e.baseline, Ending: e.ending,
	}
}

// see is a run as it is to this gateway. The caller holds s.mu.
func (r *Replica) see(e *entry) ledger.Found {
	f := r.s.found(e)
	switch {
	case e.phase == ledger.Ended:
		f.Kind = ledger.Closed
	case e.owner == r.id:
		f.Kind = ledger.Here
	default:
		f.Kind = ledger.There
	}
	return f
}

// resolve is see, and takes a run over whose gateway is dead. The caller holds s.mu.
func (r *Replica) resolve(e *entry) ledger.Found {
	f := r.see(e)
	if f.Kind == ledger.There && r.s.isDead(e.owner) {
		r.take(e)
		f.Kind, f.Epoch = ledger.Taken, e.Epoch
		r.s.wake()
	}
	return f
}

// take makes a run this gateway's. The caller holds s.mu.
func (r *Replica) take(e *entry) {
	e.owner, e.alone = r.id, time.Time{}
	e.Epoch++
}

// Find implements ledger.Ledger.
func (r *Replica) Find(ctx context.Context, run int64) (ledger.Found, error) {
	if err := r.enter(ctx, "find"); err != nil {
		return ledger.Found{}, err
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	e := r.s.run(run)
	if e == nil {
		return ledger.Found{}, ledger.ErrFenced
	}
	return r.resolve(e), nil
}

// Runs implements ledger.Ledger.
func (r *Replica) Runs(ctx context.Context, conversation string) ([]ledger.Found, error) {
	if err := r.enter(ctx, "runs"); err != nil {
		return nil, err
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	var list []ledger.Found
	for _, e := range r.s.runs {
		if e.claim.Conversation == conversation {
			list = append(list, r.see(e))
		}
	}
	return list, nil
}

// Await implements ledger.Ledger.
func (r *Replica) Await(ctx context.Context, run int64) (f ledger.Found, err error) {
	if err := r.enter(ctx, "await"); err != nil {
		return f, err
	}
	waited := r.s.wait(ctx, func() bool {
		if r.frozen {
			return false
		}
		if err = r.fails[""]; err != nil {
			return true
		}
		e := r.s.run(run)
		if e == nil {
			err = ledger.ErrFenced
			return true
		}
		f = r.resolve(e)
		return f.Kind != ledger.There
	})
	if waited != nil {
		err = waited
	}
	return f, err
}

// Orphans implements ledger.Ledger.
func (r *Replica) Orphans(ctx context.Context) ([]ledger.Found, error) {
	if err := r.enter(ctx, "orphans"); err != nil {
		return nil, err
	}
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	var taken []ledger.Found
	for _, e := range s.runs {
		switch {
		case e.phase == ledger.Ended:
		case !s.isDead(e.owner):
			e.alone = time.Time{} // its session was broken, and is back
		case e.phase != ledger.Queued:
			taken = append(taken, r.resolve(e))
		case e.alone.IsZero():
			e.alone = s.now()
		}
	}
	s.forget(func(e *entry) bool {
		return e.phase == ledger.Queued && !e.alone.IsZero() && s.now().Sub(e.alone) > keepPlace
	})
	s.wake()
	return taken, nil
}

// Owned implements ledger.Ledger.
func (r *Replica) Owned(ctx context.Context) ([]ledger.Ticket, error) {
	if err := r.enter(ctx, "owned"); err != nil {
		return nil, err
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	var tickets []ledger.Ticket
	for _, e := range r.s.runs {
		if e.owner == r.id && e.phase < ledger.Ended {
			tickets = append(tickets, e.Ticket)
		}
	}
	return tickets, nil
}
