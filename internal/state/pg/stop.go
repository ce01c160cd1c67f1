package pg

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// stopSQL marks runs as stopped, and wakes the other gateways that look after them. The caller
// adds which.
const (
	stopSQL     = "WITH e AS (UPDATE runs SET stop = 'user' WHERE phase < 3 AND stop = '' AND "
	stopNextSQL = " RETURNING id, owner, phase, conv) SELECT id, owner, phase, conv, CASE WHEN owner <> $1 THEN pg_notify('" + channel + "', 'run ' || id) END FROM e"
)

// Stop stops the runs of a conversation that have not ended, on whatever gateway they are, and
// counts them. Those that wait end; one that was sent is interrupted.
func (l *Ledger) Stop(ctx context.Context, token, conversation string, key []byte, interrupt func(context.Context) error) (int, error) {
	return l.stop(ctx, interrupt, "conv = $2 AND ($3 = '' OR token = $3) AND ($4::bytea IS NULL OR key = $4)", conversation, token, optional(key))
}

// StopRun is Stop for one run.
func (l *Ledger) StopRun(ctx context.Context, run int64, interrupt func(context.Context) error) (bool, error) {
	n, err := l.stop(ctx, interrupt, "id = $2", run)
	return n > 0, err
}

// stop marks runs, wakes who waits for them here, and interrupts those that were sent.
func (l *Ledger) stop(ctx context.Context, interrupt func(context.Context) error, which string, args ...any) (int, error) {
	rows, err := l.db.set(ctx, lazy, stopSQL+which+stopNextSQL, append([]any{l.r.id}, args...)...)
	for _, found := range rows {
		if found.number(1) == l.r.id {
			l.r.bells.ring(found.number(0))
		}
		if ledger.Phase(found.number(2)) != ledger.Queued { // one of a conversation at most
			err = errors.Join(err, l.interrupt(ctx, found.text(3), found.number(0), interrupt))
		}
	}
	return len(rows), err
}

// interrupt calls interrupt if a run goes on. The lock keeps the next one of the conversation from
// beginning meanwhile.
func (l *Ledger) interrupt(ctx context.Context, conversation string, run int64, interrupt func(context.Context) error) error {
	return l.db.within(ctx, lazy, func(tx *conn) error {
		if _, err := tx.query(ctx, "SELECT FROM conversations WHERE id = $1 FOR UPDATE", conversation); err != nil {
			return err
		}
		rows, err := tx.query(ctx, "SELECT FROM runs WHERE id = $1 AND phase IN (1, 2)", run)
		if err != nil || len(rows) == 0 {
			return err
		}
		return interrupt(ctx)
	})
}
