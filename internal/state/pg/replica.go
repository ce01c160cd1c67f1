package pg

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// Options are the settings of a gateway that shares the database with others.
type Options struct {
	Address, Version string // for lists
	Logger           *slog.Logger
	// MaxRuns is how many runs all gateways have together, see Provide; MaxQueue how many wait
	// beyond those, and MaxLane how many wait for one conversation.
	MaxRuns, MaxQueue, MaxLane int
	// Lease is after how long without a sign of life a gateway counts as dead whose
	// session still stands; 0: 15 s. It gives one three times as often.
	Lease time.Duration
	// Direct is where the session goes, if the pool goes through a PgBouncer in
	// transaction mode, which has none; nil: to the pool's own database. With LeaseOnly
	// there is no session: nobody knows of a crash before the lease is over, and what
	// gateways tell each other is seen when they look, every half second.
	Direct    *DB
	LeaseOnly bool
}

const (
	defaultLease = 15 * time.Second
	// lookAgain is when a wait looks at the database again, told or not.
	lookAgain = 500 * time.Millisecond
	// livingClass is the class of the advisory locks that living gateways hold.
	livingClass = 0x6f68
	// channel is where gateways tell each other what has changed.
	channel = "ohgw"
	// maxAgain is how many questions about runs that were there before a gateway asks at the
	// same time. When another one dies, all its clients come at once: the other connections
	// are left to new requests.
	maxAgain = 8
	// sessionAgain is when a session that broke is made again.
	sessionAgain = 200 * time.Millisecond
)

// Replica is a gateway among those that share the database. Make one with [Join], end
// it with Close.
type Replica struct {
	db  *DB
	cfg Options
	id  int64

	runs   atomic.Int64 // how many go on at all gateways together
	beaten atomic.Int64 // when the last sign of life was written, by the monotonic clock of began
	began  time.Time
	life   context.Context
	end    context.CancelFunc
	wg     sync.WaitGroup

	again chan struct{} // holds one for each question about a run that was there before

	mu      sync.Mutex
	waits   map[int64]chan struct{} // of runs
	shelves []*Shelf
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
	r := &Replica{db: db, cfg: cfg, began: db.now(), again: make(chan struct{}, maxAgain), waits: make(map[int64]chan struct{})}
	rows, err := db.query(ctx, "INSERT INTO replicas (address, version, locked) VALUES ($1, $2, $3) RETURNING id", cfg.Address, cfg.Version, !cfg.LeaseOnly)
	if err != nil {
		return nil, err
	}
	r.id = rows[0].number(0)
	if err := errors.Join(r.Provide(ctx, cfg.MaxRuns), db.identify(ctx)); err != nil {
		return nil, err
	}
	r.life, r.end = context.WithCancel(context.Background())
	if !cfg.LeaseOnly {
		s, err := r.session(ctx)
		if err != nil {
			r.end()
			return nil, err
		}
		r.wg.Go(func() { r.listen(r.life, s) })
	}
	r.wg.Go(func() { r.beat(r.life) })
	return r, nil
}

// Provide makes slots for so many runs, of all gateways together. The gateway that did so
// last decides how many there are; what runs in one that is too many ends there.
func (r *Replica) Provide(ctx context.Context, runs int) error {
	r.runs.Store(int64(runs))
	_, err := r.db.query(ctx, `WITH more AS (INSERT INTO slots (n) SELECT generate_series(1, $1::int) ON CONFLICT DO NOTHING)
		DELETE FROM slots WHERE n > $1::int AND run IS NULL`, runs)
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

// session is the connection that says that this gateway lives: it holds a lock that
// falls with it, and hears what others tell.
func (r *Replica) session(ctx context.Context) (*conn, error) {
	cfg := cmp.Or(r.cfg.Direct, r.db).cfg.Copy()
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { r.heard(n.Payload) }
	pc, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, explain(err)
	}
	c := &conn{PgConn: pc, most: r.db.most, known: make(map[string]string)}
	rows, err := c.query(ctx, "SELECT pg_try_advisory_lock($1::int, $2::int)", livingClass, r.id)
	if err == nil && !rows[0].isTrue(0) {
		err = errHeld // by a session of ours that the database has not missed yet
	}
	if err == nil {
		err = c.simple(ctx, "LISTEN "+channel)
	}
	if err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

var errHeld = errors.New("an earlier session of this gateway still stands")

// listen keeps a session until life ends.
func (r *Replica) listen(life context.Context, c *conn) {
	for life.Err() == nil {
		if c == nil {
			var err error
			if c, err = r.session(life); err != nil {
				select {
				case <-time.After(sessionAgain):
				case <-life.Done():
				}
				continue
			}
			r.heardAll() // what was told meanwhile is not known
		}
		if err := c.WaitForNotification(life); err != nil && life.Err() == nil {
			r.cfg.Logger.Warn("the session with the database broke; making another", "err", explain(err))
			r.db.suspect()
			c.end()
			c = nil
		}
	}
	if c != nil {
		c.end()
	}
}

// heard is a message of another gateway: "run 7", or "shelf tokens".
func (r *Replica) heard(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kind, id, _ := strings.Cut(what, " ")
	switch kind {
	case "shelf":
		for _, s := range r.shelves {
			if s.name == id {
				wake(s.told)
			}
		}
	case "run":
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			wake(r.waits[n])
		}
	}
}

func (r *Replica) heardAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.shelves {
		wake(s.told)
	}
	for _, ch := range r.waits {
		wake(ch)
	}
}

func wake(ch chan struct{}) {
	if ch == nil {
		return
	}
	select {
	case ch <- struct{}{}:
	default:
	}
}

// watch is a channel that gets something when a run may have changed.
func (r *Replica) watch(run int64) (ch chan struct{}, stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ch = r.waits[run]
	if ch == nil {
		ch = make(chan struct{}, 1)
		r.waits[run] = ch
	}
	return ch, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waits, run)
	}
}

// beat gives signs of life until life ends.
func (r *Replica) beat(life context.Context) {
	ticker := time.NewTicker(r.cfg.Lease / 3)
	defer ticker.Stop()
	for {
		at := r.db.now().Sub(r.began)
		// Nothing is lost with a sign of life: it does not wait for a disk that is busy.
		if _, err := r.db.set(life, lazy, "UPDATE replicas SET seen_at = now() WHERE id = $1", r.id); err == nil {
			r.beaten.Store(int64(at))
		} else if life.Err() == nil {
			r.cfg.Logger.Warn("cannot write a sign of life", "err", err)
		}
		select {
		case <-ticker.C:
		case <-life.Done():
			return
		}
	}
}

// isFresh reports whether nobody can take this gateway for dead yet.
func (r *Replica) isFresh() bool {
	return r.db.now().Sub(r.began)-time.Duration(r.beaten.Load()) < r.cfg.Lease/2
}

// live makes sure that nobody can take this gateway for dead for a while. A late sign of
// life, as on a machine that is busy, it gives now. Where others may have missed it for
// too long already, it is ErrFenced.
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
