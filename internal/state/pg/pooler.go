package pg

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	// ErrPooler says that a pooler in transaction mode keeps no session, by which others see that a
	// gateway lives.
	ErrPooler = errors.New("a pooler in transaction mode is in front of the database")
	// ErrOtherDatabase says that the session of a gateway is not in the database of its runs, where the
	// other gateways do not see it.
	ErrOtherDatabase = errors.New("the session is in another database")
)

// poolerTries is how often two connections are compared. Other clients of a pooler may take
// what one of them has just given back.
const poolerTries = 5

// CheckSession verifies that a connection is a session: no pooler in transaction mode gives it
// another connection of the database for each transaction. Call it before anything else, since
// such a pooler may not know prepared statements.
func (db *DB) CheckSession(ctx context.Context) error {
	var both [2]*pgconn.PgConn
	for i := range both {
		c, err := pgconn.ConnectConfig(ctx, db.cfg)
		if err != nil {
			return explain(err)
		}
		pc := &conn{PgConn: c, most: db.most}
		defer pc.end()
		both[i] = c
		backend, err := backendOf(ctx, c)
		if err != nil {
			return err
		}
		if backend == fmt.Sprint(c.PID()) { // a pooler names no process, or another one
			return nil
		}
	}
	for range poolerTries {
		first, err := backendOf(ctx, both[0])
		if err != nil {
			return err
		}
		second, err := backendOf(ctx, both[1])
		if err != nil {
			return err
		}
		if first == second { // two clients that are connected have one process
			return ErrPooler
		}
	}
	return nil
}

// backendOf returns the process that answers a transaction.
func backendOf(ctx context.Context, c *pgconn.PgConn) (string, error) {
	results, err := c.Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return "", explain(err)
	}
	return string(results[0].Rows[0][0]), nil
}

// isSeen verifies that the lock of the session is seen where the runs are.
func (r *Replica) isSeen(ctx context.Context) error {
	if r.cfg.Direct == nil {
		return nil
	}
	rows, err := r.db.query(ctx, "SELECT pg_try_advisory_xact_lock($1::int, $2::int)", livingClass, r.id)
	if err == nil && rows[0].isTrue(0) {
		err = fmt.Errorf("%w: %s", ErrOtherDatabase, r.cfg.Direct.Address())
	}
	return err
}
