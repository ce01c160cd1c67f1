// Package sharing makes this process one of the gateways of a database, and gives the
// daemon what these keep there.
//
// Invariant: without a database in the settings it opens nothing and starts nothing.
package sharing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/rescue"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/database"
)

const (
	// joinTime bounds how long the start waits for the database.
	joinTime = 15 * time.Second
	// maxLane is how many requests may wait for one conversation.
	maxLane = 8
	// sweepEvery is how often runs that are over are forgotten: those with an idempotency
	// key after keepKeyed, as at one gateway, and the others after keepOther, when no
	// request can join them any more.
	sweepEvery = 5 * time.Minute
	keepKeyed  = 24 * time.Hour
	keepOther  = 15 * time.Minute
	// checkAge is how long what the database said about itself is good for, and checkTime
	// bounds the question.
	checkAge  = 2 * time.Second
	checkTime = 5 * time.Second
)

// Options is what a gateway needs beside its settings.
type Options struct {
	Address string // where it listens, for lists
	Log     *slog.Logger
}

// State is what this gateway shares with others; nil: it is alone. Close leaves them.
type State struct {
	db      *pg.DB
	replica *pg.Replica
	log     *slog.Logger
	life    context.Context // ends with Close
	end     context.CancelFunc
	wg      sync.WaitGroup
	now     func() time.Time

	mu     sync.Mutex
	looked time.Time // when the database was asked how it is
	found  error     // what it said
}

// Open makes this process one of the gateways of the database that the settings name. It
// returns nil if they name none.
func Open(ctx context.Context, env *setup.Env, s *config.Settings, in Options) (*State, error) {
	if !s.State.Shared() {
		return nil, nil // a State that is nil shares nothing
	}
	db, err := database.Open(env, s)
	if err != nil {
		return nil, err
	}
	replica, err := join(ctx, env, s, db, in)
	if err != nil {
		db.Close()
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	st := &State{db: db, replica: replica, log: in.Log, life: life, end: end, now: env.Now}
	st.wg.Go(st.sweep)
	return st, nil
}

// join joins the other gateways.
func join(ctx context.Context, env *setup.Env, s *config.Settings, db *pg.DB, in Options) (*pg.Replica, error) {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	session, err := database.OpenSession(env, s)
	if err != nil {
		return nil, err
	}
	if err := database.CheckSession(ctx, s, db, session); err != nil {
		return nil, err
	}
	replica, err := pg.Join(ctx, db, pg.Options{
		Address: in.Address, Version: buildinfo.Get().Version, Logger: in.Log,
		MaxRuns: s.MaxRuns, MaxQueue: s.MaxQueue, MaxLane: maxLane,
		Direct: session, LeaseOnly: s.State.Session == config.NoSession,
	})
	return replica, database.Fault(db, err)
}

// Daemon returns what the daemon keeps in the database; nil: the state directory has everything.
func (st *State) Daemon() *daemon.Shared {
	if st == nil {
		return nil
	}
	return &daemon.Shared{
		Check: st.check, Ledger: st.replica.Ledger(), Shots: st.replica.Shots(), Owners: st.replica.Owners(), Chats: st.replica.Chats(),
	}
}

// check asks the database how it is, unless it was asked a moment ago.
func (st *State) check(ctx context.Context) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	now := st.now()
	if !st.looked.IsZero() && now.Sub(st.looked) < checkAge {
		return st.found
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime) // others get the answer, too
	defer cancel()
	_, st.found = st.db.Check(ctx)
	st.looked = now
	return st.found
}

// sweep forgets what is over, until the gateway leaves.
func (st *State) sweep() {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		err := rescue.Do(func() error {
			_, err := st.replica.Sweep(st.life, keepKeyed, keepOther)
			return err
		})
		if err != nil && st.life.Err() == nil {
			st.log.Warn("cannot forget runs that are over", "err", err)
		}
		select {
		case <-ticker.C:
		case <-st.life.Done():
			return
		}
	}
}

// Close leaves the other gateways, which take over the runs that go on. Where the database is
// away, they do so when the lease of this one is over.
func (st *State) Close() {
	if st == nil {
		return
	}
	st.end()
	st.wg.Wait()
	if err := st.replica.Close(); err != nil {
		st.log.Warn("cannot leave the shared database; the other gateways take over in 15 seconds", "err", err)
	}
	st.db.Close()
}
