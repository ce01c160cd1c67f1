package pg

import (
	"context"
	"errors"
	"strconv"
)

// statement is one of several that are sent together.
type statement struct {
	sql  string
	args []any
}

// durability is whether a commit waits for the disk.
type durability bool

const (
	lazy    durability = false
	durable durability = true
)

// plansSQL is for the rest of a transaction. A connection keeps its plans, and makes most of
// them while the tables are small or have not been counted: such a plan reads the whole table
// for each run long after it has grown. Every statement here has an index. Where one is not
// used all the same, its price looks so high that Postgres would compile it.
const plansSQL = "set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)"

// commits makes the transaction's commit wait for the disk, or not.
func (d durability) commits() statement {
	commit := "off"
	if d == durable {
		commit = "on"
	}
	return statement{"SELECT set_config('synchronous_commit', $1, true), " + plansSQL, []any{commit}}
}

// query runs one statement on a connection of the pool.
func (db *DB) query(ctx context.Context, sql string, args ...any) (found []row, err error) {
	err = db.with(ctx, func(c *conn) error {
		found, err = c.query(ctx, sql, args...)
		return err
	})
	return found, err
}

// write runs statements in a transaction of their own, in one round trip: each sees what
// those before it have done. It returns the rows of each.
func (db *DB) write(ctx context.Context, d durability, list ...statement) (found [][]row, err error) {
	err = db.with(ctx, func(c *conn) error {
		found, err = c.batch(ctx, append([]statement{d.commits()}, list...))
		return err
	})
	if err != nil {
		return nil, err
	}
	return found[1:], nil
}

// set is write for one statement.
func (db *DB) set(ctx context.Context, d durability, sql string, args ...any) ([]row, error) {
	found, err := db.write(ctx, d, statement{sql, args})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// within runs f in a transaction, which begins with f's first statement. Its commit waits for
// the disk if d says so.
func (db *DB) within(ctx context.Context, d durability, f func(*conn) error) error {
	return db.with(ctx, func(c *conn) error {
		// A gateway that is frozen in here loses its locks before its lease is over.
		idle := strconv.FormatInt(db.most.Milliseconds(), 10)
		c.begin = []statement{{sql: "BEGIN"}, d.commits(), {"SELECT set_config('idle_in_transaction_session_timeout', $1, true)", []any{idle}}}
		err := f(c)
		begun := c.begin == nil
		c.begin = nil
		switch {
		case !begun:
			return err
		case err == nil:
			return c.simple(ctx, "COMMIT")
		case c.TxStatus() != 'I' && !c.IsClosed():
			err = errors.Join(err, c.simple(context.WithoutCancel(ctx), "ROLLBACK"))
		}
		return err
	})
}
