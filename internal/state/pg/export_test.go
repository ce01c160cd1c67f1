package pg

import (
	"context"
	"time"
)

// Die ends a gateway as the loss of its process would: its session falls, and nothing
// is said to anybody. The database has missed the session when it returns.
func (r *Replica) Die() {
	r.end()
	r.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		rows, err := r.db.query(ctx, "SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid::int = $1 AND objid::int = $2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())", livingClass, r.id)
		if err != nil || len(rows) == 0 {
			return // or the database is gone, too
		}
	}
}

// ID is the number of a gateway.
func (r *Replica) ID() int64 { return r.id }

// WhileAsking calls f in a transaction that has asked whether a gateway is dead.
func (r *Replica) WhileAsking(ctx context.Context, gateway int64, f func()) error {
	return r.db.within(ctx, lazy, func(tx *conn) error {
		_, err := tx.query(ctx, "SELECT "+deadSQL+" FROM (SELECT $3::bigint AS owner) r", r.id, r.cfg.Lease, gateway)
		f()
		return err
	})
}

// Query is a statement of a test.
func (db *DB) Query(ctx context.Context, sql string, args ...any) ([][]string, error) {
	rows, err := db.query(ctx, sql, args...)
	return texts(rows), err
}

// Hurry lets statements take less time than they may.
func (db *DB) Hurry(most time.Duration) { db.most = most }

// Miss makes a gateway one whose last sign of life was so long ago. It waits for the
// first one, which comes right after the start.
func (r *Replica) Miss(ctx context.Context, ago time.Duration) error {
	for r.beaten.Load() == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	r.beaten.Store(int64(r.db.now().Sub(r.began) - ago))
	_, err := r.db.query(ctx, "UPDATE replicas SET seen_at = now() - make_interval(secs => $2) WHERE id = $1", r.id, ago)
	return err
}

// Batch runs statements with one parameter each in one round trip, and gives the rows of
// the last.
func (db *DB) Batch(ctx context.Context, d bool, pairs ...string) ([][]string, error) {
	var list []statement
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, statement{pairs[i], []any{pairs[i+1]}})
	}
	found, err := db.write(ctx, durability(d), list...)
	if err != nil {
		return nil, err
	}
	return texts(found[len(found)-1]), nil
}

func texts(rows []row) (out [][]string) {
	for _, r := range rows {
		var line []string
		for i := range r {
			line = append(line, r.text(i))
		}
		out = append(out, line)
	}
	return out
}

// Repeats is how many questions about runs that were there before are being asked.
func (r *Replica) Repeats() int { return len(r.again) }
