package sharing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

const (
	// dueAgain is when a gateway looks again for one-shots whose time has come.
	dueAgain = 5 * time.Second
	// maxRemovals is how many of them a gateway removes at the same time: each holds a
	// connection to what the gateways share.
	maxRemovals = 2
	// While the backend cannot be reached, nothing is removed for restFirst, then for twice as
	// long and so on, up to restMost.
	restFirst = time.Minute
	restMost  = time.Hour
)

// Removal is how a gateway removes one-shots.
type Removal struct {
	TTL    time.Duration // how long one stays after its last run
	Orphan time.Duration // how long one stays whose end no gateway has noted
	Logger *slog.Logger
	// Remove removes a conversation, which no run enters meanwhile. Where that fails, it
	// returns when it is tried again; away reports that the backend does not answer.
	Remove func(ctx context.Context, conversation string, tries int) (again time.Duration, away bool)
	// Guard calls f and logs its panic.
	Guard func(f func())
	// Explain returns an error of the ledger as the callers of a Shots want it.
	Explain func(error) error
}

// Shots are the one-shots of all gateways. Each gateway removes some of those whose time has
// come; the ledger holds that none of them is in use then, at any gateway. Make one with
// OpenShots, and end it with Close.
type Shots struct {
	ledger ledger.Shots
	how    Removal
	due    chan struct{} // gets something when one is due at once

	wg   sync.WaitGroup
	life context.Context
	end  context.CancelFunc
}

// OpenShots begins to remove one-shots.
func OpenShots(l ledger.Shots, how Removal) *Shots {
	s := &Shots{ledger: l, how: how, due: make(chan struct{}, 1)}
	s.life, s.end = context.WithCancel(context.Background())
	for range maxRemovals {
		s.wg.Go(s.sweep)
	}
	return s
}

// Close stops removing. What is left is for the other gateways.
func (s *Shots) Close() error {
	s.end()
	s.wg.Wait()
	return nil
}

// call makes a call of the ledger.
func (s *Shots) call(f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), CallTime)
	defer cancel()
	return s.how.Explain(f(ctx))
}

// Add notes a one-shot that is about to be made; undo takes that back.
func (s *Shots) Add(conversation string) (undo func(), err error) {
	err = s.call(func(ctx context.Context) error { return s.ledger.Add(ctx, conversation) })
	return func() { s.Removed(conversation) }, err
}

// Ended starts the time of a one-shot whose run is over; one that never began has none.
// Where that cannot be noted, it stays as one of a gateway that died.
func (s *Shots) Ended(conversation string, began bool) {
	after := time.Duration(0)
	if began {
		after = s.how.TTL
	}
	if err := s.call(func(ctx context.Context) error { return s.ledger.Ends(ctx, conversation, after) }); err != nil {
		s.how.Logger.Warn("cannot record the end of a one-shot conversation", "conversation_id", conversation, "err", err)
		return
	}
	if after == 0 {
		select {
		case s.due <- struct{}{}:
		default:
		}
	}
}

// Keep strikes out a one-shot that its client continues, on the disk when it returns.
func (s *Shots) Keep(conversation string) error {
	return s.call(func(ctx context.Context) error { return s.ledger.Keep(ctx, conversation) })
}

// Hold keeps a one-shot while its client continues it; Ended starts its time again.
func (s *Shots) Hold(conversation string) error {
	return s.call(func(ctx context.Context) error { return s.ledger.Hold(ctx, conversation) })
}

// Has reports whether a conversation is a one-shot that is there.
func (s *Shots) Has(conversation string) bool {
	has := false
	err := s.call(func(ctx context.Context) (err error) {
		has, err = s.ledger.Has(ctx, conversation)
		return err
	})
	return err == nil && has
}

// Removed strikes out one that is gone. Where that fails it is removed again, which finds
// nothing.
func (s *Shots) Removed(conversation string) {
	if err := s.call(func(ctx context.Context) error { return s.ledger.Forget(ctx, conversation) }); err != nil {
		s.how.Logger.Warn("cannot record the removal of a one-shot conversation", "conversation_id", conversation, "err", err)
	}
}

// sweep removes one-shots until life ends. While the backend does not answer it rests.
func (s *Shots) sweep() {
	ticker := time.NewTicker(dueAgain)
	defer ticker.Stop()
	rest := time.Duration(0)
	for {
		select {
		case <-s.due:
		case <-ticker.C:
		case <-s.life.Done():
			return
		}
		away := false
		s.how.Guard(func() { away = s.removeDue() })
		if rest = nextRest(rest, away); rest > 0 && !Rest(s.life, rest) {
			return
		}
	}
}

// nextRest returns how long nothing is removed after a failure of the backend.
func nextRest(last time.Duration, away bool) time.Duration {
	if !away {
		return 0
	}
	return min(max(restFirst, 2*last), restMost)
}

// removeDue removes all that are due, and reports whether the backend does not answer.
func (s *Shots) removeDue() (away bool) {
	for found := true; found && !away && s.life.Err() == nil; {
		var err error
		found, err = s.ledger.Due(s.life, s.how.Orphan, func(ctx context.Context, conversation string, tries int) (again time.Duration) {
			s.how.Guard(func() {
				again = restFirst // after a panic
				again, away = s.how.Remove(ctx, conversation, tries)
			})
			return again
		})
		if err != nil && s.life.Err() == nil {
			s.how.Logger.Debug("cannot look for one-shot conversations whose time has come", "err", err)
			return away
		}
	}
	return away
}
