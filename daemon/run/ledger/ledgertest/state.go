// Package ledgertest has what every ledger is to do as tests, and a ledger in memory for
// tests of its callers. The one in memory keeps the rules of a real one, and its gateways
// can fail, freeze and die.
package ledgertest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// Options are the limits that the gateways of one ledger share.
type Options struct {
	MaxRuns  int // slots
	MaxQueue int // runs that wait for a slot
	MaxLane  int // runs that wait in one conversation
}

const (
	// lease is how long a gateway that gives no sign of life is not taken for dead.
	lease = 15 * time.Second
	// keepPlace is how long a run that waits keeps its place without a gateway.
	keepPlace = 10 * time.Second
)

// State is what gateways share, in memory. Make one with New.
type State struct {
	now  func() time.Time
	opts Options

	mu       sync.Mutex
	changed  chan struct{} // closed at the next change
	last     int64         // id of a run or a gateway
	runs     []*entry      // in the order of their claims
	shots    map[string]*shot
	locked   map[string]bool // conversations
	replicas map[int64]*Replica
}

// entry is a run.
type entry struct {
	ledger.Ticket

	claim    ledger.Claim
	owner    int64 // 0: none
	phase    ledger.Phase
	slot     bool
	stop     string
	request  []byte
	baseline turn.Baseline
	ending   ledger.Ending
	past     ledger.Past
	alone    time.Time // since when it waits without a gateway; zero: it has one
	watchers map[int64]int
}

// shot is a conversation.
type shot struct {
	once       bool
	ends, used time.Time
	tries      int
}

// New makes a state without runs. Now is its clock.
func New(now func() time.Time, opts Options) *State {
	return &State{
		now: now, opts: opts, changed: make(chan struct{}),
		shots: make(map[string]*shot), locked: make(map[string]bool), replicas: make(map[int64]*Replica),
	}
}

// Join adds a gateway.
func (s *State) Join() *Replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	r := &Replica{s: s, id: s.last, fails: make(map[string]error), loses: make(map[string]error)}
	s.replicas[r.id] = r
	return r
}

// Age makes everything that has a time older.
func (s *State) Age(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	older := func(times ...*time.Time) {
		for _, t := range times {
			if !t.IsZero() {
				*t = t.Add(-by)
			}
		}
	}
	for _, e := range s.runs {
		older(&e.alone, &e.past.EndedAt, &e.past.FirstAt, &e.past.DeliveredAt)
	}
	for _, c := range s.shots {
		older(&c.ends, &c.used)
	}
}

// Phases returns how far the runs are that the state knows, in the order of their claims.
func (s *State) Phases() []ledger.Phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	phases := make([]ledger.Phase, len(s.runs))
	for i, e := range s.runs {
		phases[i] = e.phase
	}
	return phases
}

// Endings returns the ends of the runs that are over, in the order of their claims.
func (s *State) Endings() []ledger.Ending {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ends []ledger.Ending
	for _, e := range s.runs {
		if e.phase == ledger.Ended {
			ends = append(ends, e.ending)
		}
	}
	return ends
}

// History returns what the rule of joining knows of the runs, in the order of their claims.
func (s *State) History() []ledger.Past {
	s.mu.Lock()
	defer s.mu.Unlock()
	past := make([]ledger.Past, len(s.runs))
	for i, e := range s.runs {
		past[i] = s.pastOf(e)
	}
	return past
}

// pastOf is what the rule of joining knows of a run. The caller holds s.mu.
func (s *State) pastOf(e *entry) ledger.Past {
	p := e.past
	p.Run, p.Revision, p.Now = e.Run, e.claim.Revision, s.now()
	p.Stopped, p.Ended, p.Failed = e.stop != "", e.phase == ledger.Ended, e.ending.Failed
	return p
}

// wake lets every caller that waits look again. The caller holds s.mu.
func (s *State) wake() {
	s.admit()
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait calls look, with s.mu, until that reports true.
func (s *State) wait(ctx context.Context, look func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := look(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lock takes a conversation: no run of it begins until the returned function is called.
func (s *State) lock(ctx context.Context, conversation string) (unlock func(), err error) {
	err = s.wait(ctx, func() bool {
		if s.locked[conversation] {
			return false
		}
		s.locked[conversation] = true
		return true
	})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.locked, conversation)
		s.wake()
	}, err
}

// run returns a run; nil: there is none. The caller holds s.mu.
func (s *State) run(id int64) *entry {
	for _, e := range s.runs {
		if e.Run == id {
			return e
		}
	}
	return nil
}

// forget takes runs out. The caller holds s.mu.
func (s *State) forget(is func(*entry) bool) { s.runs = slices.DeleteFunc(s.runs, is) }

// isDead reports whether a gateway is gone, or has not given a sign of life for its lease.
// The caller holds s.mu.
func (s *State) isDead(id int64) bool {
	r := s.replicas[id]
	return r == nil || r.dead || !r.silent.IsZero() && s.now().Sub(r.silent) > lease
}

// isBehind reports whether another run of the conversation comes first. The caller holds
// s.mu.
func (s *State) isBehind(e *entry) bool {
	for _, other := range s.runs {
		if other == e {
			return false
		}
		if other.claim.Conversation == e.claim.Conversation && other.phase < ledger.Ended {
			return true
		}
	}
	return false
}

// slots counts the slots that a token has, or all. The caller holds s.mu.
func (s *State) slots(token string, all bool) (n int) {
	for _, e := range s.runs {
		if e.slot && (all || e.claim.Token == token) {
			n++
		}
	}
	return n
}

// admit gives free slots away: each to the first run of a conversation whose token has the
// fewest. The caller holds s.mu.
func (s *State) admit() {
	for s.slots("", true) < s.opts.MaxRuns {
		var next *entry
		for _, e := range s.runs {
			if e.phase != ledger.Queued || e.slot || s.isDead(e.owner) || s.isBehind(e) {
				continue
			}
			if next == nil || s.slots(e.claim.Token, false) < s.slots(next.claim.Token, false) {
				next = e
			}
		}
		if next == nil {
			return
		}
		next.slot = true
	}
}
