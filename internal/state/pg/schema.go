package pg

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"time"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Version is the version of the tables that this ohgw knows. Each migration adds to
// them and takes nothing away, so that gateways of two versions run side by side.
const Version = 6

// needs is the version that a gateway must know at least to work with these tables. A
// migration that only adds leaves it as it is, so that gateways of the version before
// can be started again during a rolling deploy, or after one that was taken back.
const needs = 6

// migrationLock is the advisory lock of a migration.
const migrationLock = 0x6f686777

// Migrate brings the tables to this version, and reports the one that they had; 0:
// there were none. Several at the same time wait for each other.
func (db *DB) Migrate(ctx context.Context) (from int, err error) {
	err = db.within(ctx, durable, func(c *conn) error {
		if err := c.patiently(ctx, "SELECT pg_advisory_xact_lock("+strconv.Itoa(migrationLock)+")"); err != nil {
			return err
		}
		if err := c.simple(ctx, "CREATE TABLE IF NOT EXISTS meta (version int NOT NULL); ALTER TABLE meta ADD COLUMN IF NOT EXISTS needs int NOT NULL DEFAULT 0"); err != nil {
			return err
		}
		if from, err = c.version(ctx); err != nil || from > Version {
			return err // newer ones stay as they are
		}
		for v := from + 1; v <= Version; v++ {
			sql, err := migrations.ReadFile(fmt.Sprintf("migrations/%04d.sql", v))
			if err != nil {
				return err
			}
			if err := c.patiently(ctx, string(sql)); err != nil {
				return err
			}
		}
		return c.simple(ctx, fmt.Sprintf("DELETE FROM meta; INSERT INTO meta (version, needs) VALUES (%d, %d)", Version, needs))
	})
	return from, err
}

// version is that of the tables; 0: there are none. Those that need a newer ohgw are
// ErrNewer.
func (c *conn) version(ctx context.Context) (int, error) {
	rows, err := c.query(ctx, "SELECT version, needs FROM meta")
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	v, least := int(rows[0].number(0)), int(rows[0].number(1))
	if least > Version {
		err = fmt.Errorf("%w: its tables are of version %d and need %d, and this one knows %d", ErrNewer, v, least, Version)
	}
	return v, err
}

// maxSkew is how far the clock of the database may be from this machine's. It decides
// nothing but when things are forgotten.
const maxSkew = time.Minute

// Health is how the database is.
type Health struct {
	Server  string        // its version
	Version int           // of the tables
	Skew    time.Duration // its clock is ahead by
}

// Check looks whether a gateway can work with the database: it answers, takes writes,
// has the tables, the role may use them, a transaction sees what others have committed,
// and its clock is right.
func (db *DB) Check(ctx context.Context) (h Health, err error) {
	err = db.with(ctx, func(c *conn) error {
		before := db.now()
		rows, err := c.query(ctx, "SELECT current_setting('server_version'), extract(epoch FROM clock_timestamp()), pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', current_setting('transaction_isolation')")
		if err != nil {
			return err
		}
		took := db.now().Sub(before)
		h.Server, h.Skew = rows[0].text(0), rows[0].moment(1).Sub(before.Add(took/2)).Round(time.Millisecond)
		if rows[0].isTrue(2) {
			return fmt.Errorf("%w: it is a standby, or read-only", ErrReadOnly)
		}
		if level := rows[0].text(3); level != "read committed" { // who waited for a lock must see what it kept from it
			return fmt.Errorf("%w: default_transaction_isolation is %q", ErrIsolation, level)
		}
		if h.Version, err = c.version(ctx); err != nil {
			return err
		}
		if h.Version < Version {
			return fmt.Errorf("%w: they are of version %d, and this one needs %d", ErrSchema, h.Version, Version)
		}
		if err := c.mayWrite(ctx); err != nil {
			return err
		}
		return c.maySecure(ctx)
	})
	if err == nil && h.Skew.Abs() > maxSkew {
		err = fmt.Errorf("%w by %v", ErrClock, h.Skew.Round(time.Second))
	}
	return h, err
}

// mayWrite looks at the rights of the role in every table.
func (c *conn) mayWrite(ctx context.Context) error {
	rows, err := c.query(ctx, `SELECT t FROM unnest(ARRAY['replicas', 'conversations', 'runs', 'slots', 'usage', 'watchers', 'documents', 'records', 'servers', 'placements', 'owners', 'chats', 'loose', 'claims', 'spoken', 'usage_hours', 'chores']) AS t
		WHERE NOT has_table_privilege(t, 'SELECT, INSERT, UPDATE, DELETE') LIMIT 1`)
	if err == nil && len(rows) > 0 {
		err = fmt.Errorf("%w: it may not write the table %s", ErrRights, rows[0].text(0))
	}
	return err
}

// maySecure looks at the right to call the function of Secure, whose arguments depend on
// the version of Postgres.
func (c *conn) maySecure(ctx context.Context) error {
	rows, err := c.query(ctx, `SELECT oid::regprocedure FROM pg_proc
		WHERE proname = 'pg_logical_emit_message' AND proargtypes[2] = 'text'::regtype AND NOT has_function_privilege(oid, 'EXECUTE')`)
	if err == nil && len(rows) > 0 {
		err = fmt.Errorf("%w: it may not execute %s", ErrFunction, rows[0].text(0))
	}
	return err
}
