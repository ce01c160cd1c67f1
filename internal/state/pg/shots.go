package pg

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Shots are the conversations of all gateways that no client asked to keep.
//
// The gateway that removes one holds its row: a claim for a run in it waits for that, and after a
// crash the lock is gone with the connection.
type Shots struct{ db *DB }

var _ ledger.Shots = (*Shots)(nil)

// Shots returns the conversations that are to be removed.
func (r *Replica) Shots() *Shots { return &Shots{r.db} }

// unendedSQL is whether a run of the conversation c goes on or waits.
const unendedSQL = `EXISTS (SELECT FROM runs r WHERE r.conv = c.id AND r.phase < 3)`

// lockTime bounds how long a gateway that hangs locks a conversation.
const lockTime = time.Minute

func (s *Shots) set(ctx context.Context, d durability, sql string, args ...any) error {
	_, err := s.db.set(ctx, d, sql, args...)
	return err
}

// Add notes a conversation that is about to be made for a run.
func (s *Shots) Add(ctx context.Context, conversation string) error {
	return s.set(ctx, lazy, "UPDATE conversations SET once = true, ends_at = NULL, tries = 0 WHERE id = $1", conversation)
}

// Hold keeps one that its client continues.
func (s *Shots) Hold(ctx context.Context, conversation string) error {
	return s.set(ctx, lazy, "UPDATE conversations SET ends_at = NULL, tries = 0 WHERE id = $1 AND once", conversation)
}

// Ends notes how long the conversation stays from now on.
func (s *Shots) Ends(ctx context.Context, conversation string, after time.Duration) error {
	return s.set(ctx, lazy, "UPDATE conversations SET ends_at = clock_timestamp() + make_interval(secs => $2) WHERE id = $1 AND once", conversation, after)
}

// Keep takes the conversation out. Most are not in: they cost no wait for the disk.
func (s *Shots) Keep(ctx context.Context, conversation string) error {
	rows, err := s.db.query(ctx, "SELECT FROM conversations WHERE id = $1 AND once", conversation)
	if err != nil || len(rows) == 0 {
		return err
	}
	return s.set(ctx, durable, "UPDATE conversations SET once = false, ends_at = NULL WHERE id = $1", conversation)
}

// Forget takes out one that is not there.
func (s *Shots) Forget(ctx context.Context, conversation string) error {
	return s.set(ctx, lazy, "UPDATE conversations SET once = false, ends_at = NULL WHERE id = $1 AND once", conversation)
}

// Has reports whether a conversation is one of them.
func (s *Shots) Has(ctx context.Context, conversation string) (bool, error) {
	if _, err := uuid.Parse(conversation); err != nil {
		return false, nil //nolint:nilerr // no conversation has such an id
	}
	rows, err := s.db.query(ctx, "SELECT FROM conversations WHERE id = $1 AND once", conversation)
	return len(rows) > 0, err
}

// Due calls remove with one conversation whose time has come.
func (s *Shots) Due(ctx context.Context, orphan time.Duration, remove func(context.Context, string, int) time.Duration) (found bool, err error) {
	err = s.db.within(ctx, lazy, func(tx *conn) error {
		rows, err := tx.query(ctx, `SELECT c.id, c.tries FROM conversations c WHERE c.once AND NOT `+unendedSQL+` AND (c.ends_at <= clock_timestamp()
			OR c.ends_at IS NULL AND c.used_at < now() - make_interval(secs => $1)
				AND NOT EXISTS (SELECT FROM runs r WHERE r.conv = c.id AND r.phase = 3 AND r.ended_at > now() - make_interval(secs => $1)))
			ORDER BY c.ends_at LIMIT 1 FOR UPDATE SKIP LOCKED`, orphan)
		if err != nil || len(rows) == 0 {
			return err
		}
		found = true
		id := rows[0].text(0)
		busy, err := s.hold(ctx, tx, id)
		if err != nil || busy {
			return err
		}
		if again := remove(ctx, id, int(rows[0].number(1))); again > 0 {
			_, err = tx.query(ctx, "UPDATE conversations SET ends_at = clock_timestamp() + make_interval(secs => $2), tries = tries + 1 WHERE id = $1", id, again)
			return err
		}
		_, err = tx.query(ctx, "DELETE FROM conversations WHERE id = $1", id)
		return err
	})
	return found, err
}

// hold reports, with the lock of a conversation, whether a run of it goes on or waits. The lock
// ends with a gateway that hangs.
func (s *Shots) hold(ctx context.Context, tx *conn, id string) (busy bool, err error) {
	if _, err := tx.query(ctx, "SELECT set_config('idle_in_transaction_session_timeout', $1, true)", strconv.FormatInt(lockTime.Milliseconds(), 10)); err != nil {
		return false, err
	}
	rows, err := tx.query(ctx, "SELECT "+unendedSQL+" FROM (SELECT $1::uuid AS id) c", id)
	return err == nil && rows[0].isTrue(0), err
}

// Alone calls f while no run of a conversation goes on or waits at any gateway.
func (s *Shots) Alone(ctx context.Context, conversation string, f func(context.Context) error) (alone bool, err error) {
	err = s.db.within(ctx, lazy, func(tx *conn) error {
		// A conversation that no run has been asked for has no row to lock yet.
		_, err := tx.query(ctx, "INSERT INTO conversations (id, token) VALUES ($1, '') ON CONFLICT (id) DO UPDATE SET id = excluded.id", conversation)
		if err != nil {
			return err
		}
		busy, err := s.hold(ctx, tx, conversation)
		if alone = !busy; err != nil || busy {
			return err
		}
		return tx.held(ctx, f)
	})
	return alone && err == nil, err
}

// held calls f while the transaction goes on, for as long as this process runs and is connected:
// the context of f ends with the locks.
func (c *conn) held(ctx context.Context, f func(context.Context) error) error {
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(lockTime / 4)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
			}
			if err := c.simple(ctx, "SELECT 1"); err != nil {
				lose(err)
				return
			}
		}
	})
	defer wg.Wait()
	defer close(over)
	return f(ctx)
}
