package pg

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// Options are the settings of a gateway that shares the database with others.
type Options struct {
	Address, Version string // for lists
	Logger           *slog.Logger
	// MaxRuns is how many runs all gateways have together, see Provide; MaxQueue how many wait
	// beyond those, and MaxLane how many wait for one conversation.
	MaxRuns, MaxQueue, MaxLane int
	// Lease is after how long without a sign of life a gateway counts as dead although its
	// session stands; 0: 15 s. It gives one three times as often.
	Lease time.Duration
	// Direct is where the session goes, if the pool goes through a PgBouncer in transaction
	// mode, which has none; nil: to the pool's own database. With LeaseOnly there is no
	// session: a crash shows when the lease is over, and a message of another gateway when this
	// one looks, every half second.
	Direct    *DB
	LeaseOnly bool
}

const (
	defaultLease = 15 * time.Second
	// livingClass is the class of the advisory locks that living gateways hold.
	livingClass = 0x6f68
)

// Replica is a gateway among those that share the database. Make one with [Join], end it with
// Close.
type Replica struct {
	db    *DB
	cfg   Options
	id    int64
	bells bells

	beaten atomic.Int64 // when the last sign of life was written, by the monotonic clock of began
	began  time.Time
	life   context.Context
	end    context.CancelFunc
	wg     sync.WaitGroup
}

// Join makes this process one of the gateways of the database.
func Join(ctx context.Context, db *DB, cfg Options) (*Replica, error) {
	if cfg.Lease <= 0 {
		cfg.Lease = defaultLease
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if _, err := db.Check(ctx); err != nil {
		return nil, err
	}
	r := &Replica{db: db, cfg: cfg, began: db.now()}
	rows, err := db.query(ctx, "INSERT INTO replicas (address, version, locked) VALUES ($1, $2, $3) RETURNING id", cfg.Address, cfg.Version, !cfg.LeaseOnly)
	if err != nil {
		return nil, err
	}
	r.id = rows[0].number(0)
	if err := r.Provide(ctx, cfg.MaxRuns); err != nil {
		return nil, err
	}
	r.life, r.end = context.WithCancel(context.Background())
	if !cfg.LeaseOnly {
		s, err := r.session(ctx)
		if err == nil {
			if err = r.isSeen(ctx); err != nil {
				s.end()
			}
		}
		if err != nil {
			_ = r.Close() // a row that is left would only be a gateway that is lost
			return nil, err
		}
		r.wg.Go(func() { r.listen(s) })
	}
	r.wg.Go(r.beat)
	return r, nil
}

// Provide makes slots for so many runs, of all gateways together. The gateway that did so last
// decides how many there are. A run in a slot that is too many ends there, and the slot with it.
func (r *Replica) Provide(ctx context.Context, runs int) error {
	_, err := r.db.write(ctx, durable,
		statement{"UPDATE limits SET runs = $1", []any{runs}}, // its lock orders gateways that provide at the same time
		statement{"INSERT INTO slots (n) SELECT generate_series(1, $1::int) ON CONFLICT DO NOTHING", []any{runs}},
		statement{"DELETE FROM slots WHERE n > $1::int AND run IS NULL", []any{runs}})
	return err
}

// Close leaves the others. Runs of this gateway that have not ended are taken over.
func (r *Replica) Close() error {
	r.end()
	r.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	_, err := r.db.query(ctx, "DELETE FROM replicas WHERE id = $1", r.id)
	return err
}

// beat gives signs of life until the gateway ends.
func (r *Replica) beat() {
	ticker := time.NewTicker(r.cfg.Lease / 3)
	defer ticker.Stop()
	for {
		at := r.db.now().Sub(r.began)
		// A sign of life need not outlive a crash: it does not wait for a disk that is busy.
		if _, err := r.db.set(r.life, lazy, "UPDATE replicas SET seen_at = now() WHERE id = $1", r.id); err == nil {
			r.beaten.Store(int64(at))
		} else if r.life.Err() == nil {
			r.cfg.Logger.Warn("cannot write a sign of life", "err", err)
		}
		select {
		case <-ticker.C:
		case <-r.life.Done():
			return
		}
	}
}

// isFresh reports whether no other gateway can take this one for dead yet.
func (r *Replica) isFresh() bool {
	return r.db.now().Sub(r.began)-time.Duration(r.beaten.Load()) < r.cfg.Lease/2
}

// live makes sure that no other gateway can take this one for dead for a while. A late sign of
// life, as on a machine that is busy, it gives now. Where others may have missed it for too long
// already, it returns ErrFenced.
func (r *Replica) live(ctx context.Context) error {
	if r.isFresh() {
		return nil
	}
	at := r.db.now().Sub(r.began)
	rows, err := r.db.set(ctx, lazy, "UPDATE replicas SET seen_at = now() WHERE id = $1 AND seen_at > now() - make_interval(secs => $2) RETURNING id", r.id, r.cfg.Lease*3/4)
	switch {
	case err != nil:
		return err
	case len(rows) == 0:
		return ledger.ErrFenced
	}
	r.beaten.Store(int64(at))
	return nil
}
