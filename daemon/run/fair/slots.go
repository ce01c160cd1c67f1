// Package fair shares a number of places among those who ask for them.
package fair

import (
	"maps"
	"slices"
)

// Slots limits how many jobs run at the same time. A slot that becomes free
// goes to the token with the fewest runs among those that wait, of several to
// the one whose last turn is longest ago, and of its jobs to the first: however
// much one token asks for, every other one has its turn. Its caller's mutex
// guards it.
type Slots struct {
	limit   func() int     // may change at any time; at least 1
	used    int            // taken
	running map[string]int // by token
	served  map[string]int // the last turn of each token that runs or waits
	turns   int
	waiting []waiter // first come first
}

type waiter struct {
	token string
	ready chan struct{} // closed when the slot is taken for it
}

// New makes slots; limit may change at any time and is at least 1.
func New(limit func() int) Slots {
	return Slots{limit: limit, running: make(map[string]int), served: make(map[string]int)}
}

// Acquire takes a slot and returns nil, or returns a channel that is closed
// when one was taken for the caller.
func (s *Slots) Acquire(token string) <-chan struct{} {
	s.handOver() // where the limit is higher than it was
	if s.used < s.limit() {
		s.occupy(token)
		return nil
	}
	w := waiter{token, make(chan struct{})}
	s.waiting = append(s.waiting, w)
	return w.ready
}

func (s *Slots) occupy(token string) {
	s.used++
	s.running[token]++
	s.turns++
	s.served[token] = s.turns
}

// Release gives back a slot of the token.
func (s *Slots) Release(token string) {
	s.used--
	s.running[token]--
	if s.running[token] == 0 {
		delete(s.running, token)
		if !slices.ContainsFunc(s.waiting, func(w waiter) bool { return w.token == token }) {
			delete(s.served, token)
		}
	}
	s.handOver()
}

// handOver gives the free slots to who is next.
func (s *Slots) handOver() {
	for len(s.waiting) > 0 && s.used < s.limit() {
		close(s.next().ready)
	}
}

// next gives the slot to the next request in the queue, which is not empty.
func (s *Slots) next() waiter {
	best := 0
	for i, w := range s.waiting {
		than := s.waiting[best].token
		if s.running[w.token] < s.running[than] || s.running[w.token] == s.running[than] && s.served[w.token] < s.served[than] {
			best = i
		}
	}
	w := s.waiting[best]
	s.waiting = slices.Delete(s.waiting, best, best+1)
	s.occupy(w.token)
	return w
}

// Abandon gives up a wait. A slot that was handed over meanwhile is released.
func (s *Slots) Abandon(token string, ready <-chan struct{}) {
	for i, w := range s.waiting {
		if w.ready == ready {
			s.waiting = slices.Delete(s.waiting, i, i+1)
			return
		}
	}
	s.Release(token)
}

// Place returns how many slots must become free until ready is closed; 0: ready
// does not wait for a slot. The place is an estimate: which run ends next is
// not known.
func (s *Slots) Place(ready <-chan struct{}) int {
	later := *s
	later.running, later.served, later.waiting = maps.Clone(s.running), maps.Clone(s.served), slices.Clone(s.waiting)
	for n := 1; len(later.waiting) > 0; n++ {
		if later.next().ready == ready {
			return n
		}
	}
	return 0
}

// Used is how many slots are taken.
func (s *Slots) Used() int { return s.used }
