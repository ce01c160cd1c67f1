package pg

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// maxResult is the size of an answer that is stored. A longer one is in the log of its
// agent-server.
const maxResult = 64 << 10

// freeSQL gives back the slot of a run e that is over, or drops it where there are too many.
const freeSQL = `s AS (UPDATE slots SET run = NULL FROM e WHERE run = e.id AND n <= (SELECT runs FROM limits WHERE one)),
		x AS (DELETE FROM slots USING e WHERE run = e.id AND n > (SELECT runs FROM limits WHERE one))`

// leftSQL wakes those at other gateways who wait for a run e that is over: it was another
// gateway's before, or they have clients for it.
const leftSQL = `SELECT id, CASE WHEN epoch > 1 OR EXISTS (SELECT FROM watchers w WHERE w.run = e.id AND w.n > 0) THEN pg_notify('` + channel + `', 'run ' || id) END FROM e`

// End notes how a run ended, and gives its slot to the next, in one commit. The caller repeats it
// while the database is away: until then the run stays the caller's.
func (l *Ledger) End(ctx context.Context, t ledger.Ticket, e ledger.Ending) error {
	if len(e.Result) > maxResult {
		e.Result = nil
	}
	usage, err := usageOf(e.Usage)
	if err != nil {
		return err
	}
	return l.leave(ctx, `WITH e AS (UPDATE runs SET phase = 3, result = $3, failed = $4, stop = CASE WHEN $5 = '' THEN stop ELSE $5 END, request = NULL, slot = NULL, ended_at = clock_timestamp(),
			usage = coalesce($6::jsonb, usage) WHERE id = $1 AND epoch = $2 AND phase < 3 RETURNING id, epoch),
		`+freeSQL+" "+leftSQL, t.Run, t.Epoch, e.Result, e.Failed, e.Stop, usage)
}

// Spends notes what a run that goes on has taken so far.
func (l *Ledger) Spends(ctx context.Context, t ledger.Ticket, u turn.Usage) error {
	usage, err := usageOf(u)
	if err != nil {
		return err
	}
	return l.note(ctx, "UPDATE runs SET usage = coalesce($3::jsonb, usage) WHERE id = $1 AND epoch = $2 AND phase < 3 RETURNING id", t.Run, t.Epoch, usage)
}

// usageOf writes a usage as its column has it; nil where nothing was taken.
func usageOf(u turn.Usage) (any, error) {
	if u == (turn.Usage{}) {
		return nil, nil
	}
	data, err := json.Marshal(u)
	if err != nil {
		return nil, fmt.Errorf("write a usage: %w", err)
	}
	return string(data), nil
}

// Drop forgets a run of which nothing was started.
func (l *Ledger) Drop(ctx context.Context, t ledger.Ticket) error {
	return l.leave(ctx, "WITH e AS (DELETE FROM runs WHERE id = $1 AND epoch = $2 AND phase < 3 RETURNING id, epoch), "+freeSQL+" "+leftSQL, t.Run, t.Epoch)
}

// leave runs a statement that takes a run out of its slot, and gives that to the next.
func (l *Ledger) leave(ctx context.Context, sql string, args ...any) error {
	found, err := l.db.write(ctx, lazy, statement{sql, args}, l.admission())
	if err != nil {
		return err
	}
	l.admitted(found[1])
	if len(found[0]) == 0 {
		return ledger.ErrFenced
	}
	return nil
}

// Release gives a run to the gateway that asks for it next, as this one is about to end. Those
// that wait for it ask at once.
func (l *Ledger) Release(ctx context.Context, t ledger.Ticket) error {
	return l.note(ctx, `WITH e AS (UPDATE runs SET owner = 0 WHERE id = $1 AND epoch = $2 AND phase < 3 RETURNING id)
		SELECT id, pg_notify('`+channel+`', 'run ' || id) FROM e`, t.Run, t.Epoch)
}

// Left notes that a client went away without its answer, or with back that one came for an answer
// that was owed.
func (l *Ledger) Left(ctx context.Context, run int64, back bool) error {
	by := 1
	if back {
		by = -1
	}
	_, err := l.db.set(ctx, lazy, "UPDATE runs SET owed = owed + $2 WHERE id = $1", run, by)
	return err
}

// Delivered notes that a client has the whole answer.
func (l *Ledger) Delivered(ctx context.Context, run int64) error {
	_, err := l.db.set(ctx, lazy, "UPDATE runs SET deliveries = deliveries + 1, delivered_at = now.at, first_at = coalesce(first_at, now.at) FROM (SELECT clock_timestamp() AS at) now WHERE id = $1", run)
	return err
}

// Watch notes that this gateway has clients for a run of another one, or no more.
func (l *Ledger) Watch(ctx context.Context, run int64, n int) error {
	_, err := l.db.set(ctx, lazy, "INSERT INTO watchers AS w (run, replica, n) VALUES ($1, $2, $3) ON CONFLICT (run, replica) DO UPDATE SET n = w.n + excluded.n", run, l.r.id, n)
	return err
}

// Watched reports whether another gateway that lives has clients for a run.
func (l *Ledger) Watched(ctx context.Context, run int64) (bool, error) {
	rows, err := l.db.query(ctx, `SELECT FROM watchers w JOIN replicas o ON o.id = w.replica
		WHERE w.run = $1 AND w.replica <> $2 AND w.n > 0 AND o.seen_at > now() - make_interval(secs => $3)`, run, l.r.id, l.r.cfg.Lease)
	return len(rows) > 0, err
}
