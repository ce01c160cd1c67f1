package pg

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// Die ends a gateway as the loss of its process would: its session falls, and it sends nothing.
// The database has missed the session when it returns.
func (r *Replica) Die() {
	r.end()
	r.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		rows, err := r.db.query(ctx, `SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid::int = $1 AND objid::int = $2
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, livingClass, r.id)
		if err != nil || len(rows) == 0 {
			return // or the database is gone, too
		}
	}
}

// ID is the number of a gateway.
func (r *Replica) ID() int64 { return r.id }

// Hurry lets statements take less time than they may.
func (db *DB) Hurry(most time.Duration) { db.most = most }

// Query is a statement of a test.
func (db *DB) Query(ctx context.Context, sql string, args ...any) ([][]string, error) {
	rows, err := db.query(ctx, sql, args...)
	return texts(rows), err
}

// Batch runs statements with one parameter each in one round trip, and returns the rows of the
// last.
func (db *DB) Batch(ctx context.Context, waits bool, pairs ...string) ([][]string, error) {
	var list []statement
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, statement{pairs[i], []any{pairs[i+1]}})
	}
	found, err := db.write(ctx, durability(waits), list...)
	if err != nil {
		return nil, err
	}
	return texts(found[len(found)-1]), nil
}

func texts(rows []row) (out [][]string) {
	for _, r := range rows {
		line := []string{}
		for i := range r {
			line = append(line, r.text(i))
		}
		out = append(out, line)
	}
	return out
}

// Tables are those whose rights Check looks at.
func Tables() []string { return tables[:] }

// Explain is what an error of the database becomes.
var Explain = explain

// AwaitSign waits for the first sign of life of a gateway, which comes right after its start.
func (r *Replica) AwaitSign() {
	waittest.Poll(waittest.Patience, func() bool { return r.beaten.Load() != 0 || r.life.Err() != nil })
}

// Miss makes a gateway one whose last sign of life was so long ago.
func (r *Replica) Miss(ctx context.Context, ago time.Duration) error {
	r.AwaitSign()
	r.beaten.Store(int64(r.db.now().Sub(r.began) - ago))
	_, err := r.db.query(ctx, "UPDATE replicas SET seen_at = now() - make_interval(secs => $2) WHERE id = $1", r.id, ago)
	return err
}

// Repeats is how many questions about runs that were there before are being asked.
func (l *Ledger) Repeats() int { return len(l.again) }

// WhileAsking calls f in a transaction that has asked whether a gateway is dead.
func (r *Replica) WhileAsking(ctx context.Context, gateway int64, f func()) error {
	return r.db.within(ctx, lazy, func(tx *conn) error {
		_, err := tx.query(ctx, "SELECT "+deadSQL+" FROM (SELECT $3::bigint AS owner) r", r.id, r.cfg.Lease, gateway)
		f()
		return err
	})
}

// Bell returns a channel that gets something when a run may have changed.
func (r *Replica) Bell(run int64) (rung <-chan struct{}, take func()) { return r.bells.hang(run) }

// Ring wakes those who wait for a run.
func (r *Replica) Ring(run int64) { r.bells.ring(run) }

// CountRequests counts what is sent to the database by connections that are made from now on.
func (db *DB) CountRequests() func() int64 {
	var sent atomic.Int64
	dial := db.cfg.DialFunc
	db.Close() // what is idle
	db.cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return &counted{c, &sent}, err
	}
	return sent.Load
}

// counted is a connection that counts its writes: pgconn sends what belongs together in one.
type counted struct {
	net.Conn

	sent *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(p)
}

// Swallow returns a function after which nothing that is sent over a connection which was made
// until then arrives.
func (db *DB) Swallow() (swallow func()) {
	var made atomic.Pointer[atomic.Bool]
	made.Store(new(atomic.Bool))
	dial := db.cfg.DialFunc
	db.cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return &swallowing{c, made.Load()}, err
	}
	return func() { made.Swap(new(atomic.Bool)).Store(true) }
}

// swallowing is a connection that may lose what is sent.
type swallowing struct {
	net.Conn

	lost *atomic.Bool
}

func (c *swallowing) Write(p []byte) (int, error) {
	if c.lost.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}
