package pg

import (
	"context"
	"fmt"
	"time"
)

// maxSkew is how far the clock of the database may be from this machine's. Only when things are
// forgotten depends on it.
const maxSkew = time.Minute

// tables are those that a gateway writes.
var tables = [...]string{"replicas", "limits", "slots", "conversations", "runs", "watchers", "owners", "servers", "placements", "chats", "loose"}

// Health is how the database is.
type Health struct {
	Server  string        // its version
	Version int           // of the tables
	Skew    time.Duration // its clock is ahead by
}

// Check verifies that a gateway can work with the database: it answers and accepts writes, it
// has the tables, the role may use them, a transaction sees what others have committed, and
// its clock is right.
func (db *DB) Check(ctx context.Context) (h Health, err error) {
	err = db.with(ctx, func(c *conn) error {
		before := db.now()
		rows, err := c.query(ctx, `SELECT current_setting('server_version'), extract(epoch FROM clock_timestamp()),
			pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', current_setting('transaction_isolation')`)
		if err != nil {
			return err
		}
		took := db.now().Sub(before)
		h.Server, h.Skew = rows[0].text(0), rows[0].moment(1).Sub(before.Add(took/2)).Round(time.Millisecond)
		if rows[0].isTrue(2) {
			return fmt.Errorf("%w: it is a standby, or read-only", ErrReadOnly)
		}
		if level := rows[0].text(3); level != "read committed" { // a transaction that waited for a lock must see what it waited for
			return fmt.Errorf("%w: default_transaction_isolation is %q", ErrIsolation, level)
		}
		if h.Version, err = c.version(ctx); err != nil {
			return err
		}
		if h.Version < Version {
			return fmt.Errorf("%w: they have version %d, and this ohgw needs %d", ErrSchema, h.Version, Version)
		}
		if err := c.mayWrite(ctx); err != nil {
			return err
		}
		return c.mayCall(ctx)
	})
	if err == nil && h.Skew.Abs() > maxSkew {
		err = fmt.Errorf("%w by %v", ErrClock, h.Skew.Abs().Round(time.Second))
	}
	return h, err
}

// mayWrite verifies the rights of the role in every table. Postgres is asked for each right
// alone: of a list, it reports whether the role has any.
func (c *conn) mayWrite(ctx context.Context) error {
	rows, err := c.query(ctx, `SELECT lower(p) || ' ' || t FROM unnest($1::text[]) AS t, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p
		WHERE NOT has_table_privilege(t, p)
		UNION ALL SELECT 'use run_numbers' WHERE NOT has_sequence_privilege('run_numbers', 'USAGE') LIMIT 1`, array(tables[:]))
	if err == nil && len(rows) > 0 {
		err = fmt.Errorf("%w: it may not %s", ErrRights, rows[0].text(0))
	}
	return err
}

// mayCall verifies the right to call the function of Secure, whose arguments depend on the
// version of Postgres.
func (c *conn) mayCall(ctx context.Context) error {
	rows, err := c.query(ctx, `SELECT oid::regprocedure FROM pg_proc
		WHERE proname = 'pg_logical_emit_message' AND proargtypes[2] = 'text'::regtype AND NOT has_function_privilege(oid, 'EXECUTE')`)
	if err == nil && len(rows) > 0 {
		err = fmt.Errorf("%w: it may not execute %s", ErrFunction, rows[0].text(0))
	}
	return err
}
