package ledgertest

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// Shots are the conversations of all gateways that are to be removed. Get them from
// [Replica.Shots].
type Shots struct{ r *Replica }

var _ ledger.Shots = Shots{}

// Shots returns this gateway's side of them.
func (r *Replica) Shots() Shots { return Shots{r} }

// change calls f with a conversation that is known, once no other call has it.
func (s Shots) change(ctx context.Context, call, conversation string, f func(*shot)) error {
	if err := s.r.enter(ctx, call); err != nil {
		return err
	}
	unlock, err := s.r.s.lock(ctx, conversation)
	if err != nil {
		return err
	}
	defer unlock()
	s.r.s.mu.Lock()
	defer s.r.s.mu.Unlock()
	if c := s.r.s.shots[conversation]; c != nil {
		f(c)
	}
	return nil
}

// Has implements ledger.Shots.
func (s Shots) Has(ctx context.Context, conversation string) (bool, error) {
	if err := s.r.enter(ctx, "has"); err != nil {
		return false, err
	}
	s.r.s.mu.Lock()
	defer s.r.s.mu.Unlock()
	c := s.r.s.shots[conversation]
	return c != nil && c.once, nil
}

// Add implements ledger.Shots.
func (s Shots) Add(ctx context.Context, conversation string) error {
	return s.change(ctx, "add", conversation, func(c *shot) { *c = shot{once: true, used: c.used} })
}

// Hold implements ledger.Shots.
func (s Shots) Hold(ctx context.Context, conversation string) error {
	return s.change(ctx, "hold", conversation, func(c *shot) { c.ends, c.tries = time.Time{}, 0 })
}

// Ends implements ledger.Shots.
func (s Shots) Ends(ctx context.Context, conversation string, after time.Duration) error {
	return s.change(ctx, "ends", conversation, func(c *shot) {
		if c.once {
			c.ends = s.r.s.now().Add(after)
		}
	})
}

// Keep implements ledger.Shots.
func (s Shots) Keep(ctx context.Context, conversation string) error {
	return s.change(ctx, "keep", conversation, func(c *shot) { *c = shot{used: c.used} })
}

// Forget implements ledger.Shots.
func (s Shots) Forget(ctx context.Context, conversation string) error {
	return s.change(ctx, "forget", conversation, func(c *shot) { *c = shot{used: c.used} })
}

// Due implements ledger.Shots.
func (s Shots) Due(ctx context.Context, orphan time.Duration, remove func(context.Context, string, int) time.Duration) (bool, error) {
	if err := s.r.enter(ctx, "due"); err != nil {
		return false, err
	}
	id, tries := s.take(orphan)
	if id == "" {
		return false, nil
	}
	again := remove(ctx, id, tries)
	st := s.r.s
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.locked, id)
	st.wake()
	switch err := context.Cause(ctx); {
	case err != nil: // as if the gateway had died: it is another one's
		return true, err
	case again > 0:
		st.shots[id].ends = st.now().Add(again)
		st.shots[id].tries++
	default:
		delete(st.shots, id)
	}
	return true, nil
}

// take locks a conversation whose time has come; empty: there is none.
func (s Shots) take(orphan time.Duration) (id string, tries int) {
	st := s.r.s
	st.mu.Lock()
	defer st.mu.Unlock()
	for id, c := range st.shots {
		if c.once && !st.locked[id] && !st.isBusy(id) && st.isDue(id, c, orphan) {
			st.locked[id] = true
			return id, c.tries
		}
	}
	return "", 0
}

// isDue reports whether the time of a conversation has come. The caller holds s.mu.
func (s *State) isDue(id string, c *shot, orphan time.Duration) bool {
	now := s.now()
	if !c.ends.IsZero() {
		return !now.Before(c.ends)
	}
	last := c.used
	for _, e := range s.runs {
		if e.claim.Conversation == id && e.past.EndedAt.After(last) {
			last = e.past.EndedAt
		}
	}
	return now.Sub(last) > orphan
}

// isBusy reports whether a run of a conversation goes on or waits. The caller holds s.mu.
func (s *State) isBusy(id string) bool {
	for _, e := range s.runs {
		if e.claim.Conversation == id && e.phase < ledger.Ended {
			return true
		}
	}
	return false
}

// Alone implements ledger.Shots.
func (s Shots) Alone(ctx context.Context, conversation string, f func(context.Context) error) (bool, error) {
	if err := s.r.enter(ctx, "alone"); err != nil {
		return false, err
	}
	unlock, err := s.r.s.lock(ctx, conversation)
	if err != nil {
		return false, err
	}
	defer unlock()
	s.r.s.mu.Lock()
	busy := s.r.s.isBusy(conversation)
	s.r.s.mu.Unlock()
	if busy {
		return false, nil
	}
	err = f(ctx)
	return err == nil, err
}
