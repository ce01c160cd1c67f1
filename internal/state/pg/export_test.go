package pg

import (
	"context"
	"time"
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
