package pg

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ohgw/ohgw/internal/pause"
)

const (
	// channel is where gateways send each other the numbers of runs that have changed.
	channel = "ohgw"
	// lookAgain is when a wait looks at the database again, without a message too.
	lookAgain = 500 * time.Millisecond
	// sessionAgain is when a session that broke is made again.
	sessionAgain = 200 * time.Millisecond
)

var errHeld = errors.New("an earlier session of this gateway still stands")

// session opens the connection that shows that this gateway lives: it holds a lock that falls
// with it, and receives the messages of others.
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
		err = errHeld // the database has not missed it yet
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

// listen keeps a session until the gateway ends.
func (r *Replica) listen(c *conn) {
	for r.life.Err() == nil {
		if c == nil {
			var err error
			if c, err = r.session(r.life); err != nil {
				_ = pause.For(r.life, sessionAgain)
				continue
			}
			r.bells.ringAll() // what was sent meanwhile is not known
		}
		if err := r.hear(c); err != nil && r.life.Err() == nil {
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

// hear waits for a message of another gateway. Where it is silent for as long as between two signs
// of life, it asks the database for one: a network may have swallowed the session, and with it the
// lock by which the others see that this gateway lives.
func (r *Replica) hear(c *conn) error {
	ctx, cancel := context.WithTimeout(r.life, r.cfg.Lease/3)
	defer cancel()
	err := c.WaitForNotification(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	return c.simple(r.life, "SELECT 1")
}

// heard handles a message of another gateway, such as "run 7".
func (r *Replica) heard(what string) {
	kind, id, _ := strings.Cut(what, " ")
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && kind == "run" {
		r.bells.ring(n)
	}
}

// bells wake those at this gateway who wait for runs.
type bells struct {
	mu   sync.Mutex
	hung map[int64]map[chan struct{}]bool
}

// hang returns a channel that gets something when a run may have changed. Each one who waits
// has one, until take.
func (b *bells) hang(run int64) (ch chan struct{}, take func()) {
	ch = make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hung == nil {
		b.hung = make(map[int64]map[chan struct{}]bool)
	}
	if b.hung[run] == nil {
		b.hung[run] = make(map[chan struct{}]bool)
	}
	b.hung[run][ch] = true
	return ch, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if delete(b.hung[run], ch); len(b.hung[run]) == 0 {
			delete(b.hung, run)
		}
	}
}

func (b *bells) ring(run int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.hung[run] {
		wake(ch)
	}
}

func (b *bells) ringAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, all := range b.hung {
		for ch := range all {
			wake(ch)
		}
	}
}

func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
