package pg

import (
	"context"
	"embed"
	"fmt"
	"strconv"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// Version is the version of the tables that this ohgw knows. Each migration adds to them
	// and takes nothing away, so that gateways of two versions run side by side.
	Version = 2
	// needs is the version that a gateway must know at least to work with these tables. A
	// migration that only adds leaves it as it is, so that gateways of the version before can
	// start during a rolling deploy, or after one that was taken back.
	needs = 1
	// migrationLock is the advisory lock of a migration.
	migrationLock = 0x6f686777
)

// Migrate brings the tables to this version, and returns the version that they had; 0 for none.
// Several at the same time wait for each other.
func (db *DB) Migrate(ctx context.Context) (from int, err error) {
	err = db.within(ctx, durable, func(c *conn) error {
		if err := c.patiently(ctx, "SELECT pg_advisory_xact_lock("+strconv.Itoa(migrationLock)+")"); err != nil {
			return err
		}
		if err := c.simple(ctx, "CREATE TABLE IF NOT EXISTS meta (version int NOT NULL, needs int NOT NULL)"); err != nil {
			return err
		}
		if from, err = c.version(ctx); err != nil || from >= Version {
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

// version returns that of the tables; 0 for none. Those that need a newer ohgw are ErrNewer.
func (c *conn) version(ctx context.Context) (int, error) {
	rows, err := c.query(ctx, "SELECT version, needs FROM meta")
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	v, least := int(rows[0].number(0)), int(rows[0].number(1))
	if least > Version {
		err = fmt.Errorf("%w: its tables have version %d and need %d, and this ohgw knows %d", ErrNewer, v, least, Version)
	}
	return v, err
}
