package pg

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// maxResult is the size of an answer that is stored. A longer one is in the log of
// its agent-server.
const maxResult = 64 << 10

// End notes how a run ended, and gives its slot to the next, in one commit. The caller
// repeats it while the database is away: until then the run stays the caller's.
func (r *Replica) End(ctx context.Context, t Ticket, e Ending) error {
	if len(e.Result) > maxResult {
		e.Result = nil
	}
	return r.leave(ctx, `WITH e AS (UPDATE runs SET phase = 3, result = $3, failed = $4, stop = CASE WHEN $5 = '' THEN stop ELSE $5 END, request = NULL, slot = NULL, ended_at = clock_timestamp()
			WHERE id = $1 AND epoch = $2 AND phase < 3 RETURNING id, epoch, token),
		s AS (UPDATE slots SET run = NULL FROM e WHERE run = e.id),
		u AS (INSERT INTO usage (token, day, runs, units, cost) SELECT token, (now() AT TIME ZONE 'UTC')::date, 1, $6, $7 FROM e
			ON CONFLICT (token, day) DO UPDATE SET runs = usage.runs + 1, units = usage.units + excluded.units, cost = usage.cost + excluded.cost),
		h AS (INSERT INTO usage_hours (token, hour, units, cost) SELECT token, date_trunc('hour', now()), $6, $7 FROM e WHERE $6 > 0 OR $7 > 0
			ON CONFLICT (token, hour) DO UPDATE SET units = usage_hours.units + excluded.units, cost = usage_hours.cost + excluded.cost) `+leftSQL,
		t.Run, t.Epoch, e.Result, e.Failed, e.Stop, e.Usage.PromptTokens+e.Usage.CompletionTokens, e.Usage.Cost)
}

// Drop forgets a run of which nothing was started.
func (r *Replica) Drop(ctx context.Context, t Ticket) error {
	return r.leave(ctx, `WITH e AS (DELETE FROM runs WHERE id = $1 AND epoch = $2 AND phase < 3 RETURNING id, epoch),
		s AS (UPDATE slots SET run = NULL FROM e WHERE run = e.id) `+leftSQL, t.Run, t.Epoch)
}

// leftSQL tells who waits for a run that was another gateway's before: e is that run.
const leftSQL = `SELECT id, CASE WHEN epoch > 1 THEN pg_notify('` + channel + `', 'run ' || id) END FROM e`

// leave runs a statement that takes a run out of its slot, and gives that to the next.
func (r *Replica) leave(ctx context.Context, sql string, args ...any) error {
	found, err := r.db.write(ctx, lazy, statement{sql, args}, r.admission())
	if err != nil {
		return err
	}
	r.admitted(found[1])
	if len(found[0]) == 0 {
		return ledger.ErrFenced
	}
	return nil
}

// Release gives a run to whoever asks for it next, as this gateway is about to end.
func (r *Replica) Release(ctx context.Context, t Ticket) error {
	rows, err := r.db.query(ctx, "UPDATE runs SET owner = 0 WHERE id = $1 AND epoch = $2 AND phase < 3 RETURNING id", t.Run, t.Epoch)
	if err == nil && len(rows) == 0 {
		err = ledger.ErrFenced
	}
	return err
}

// Left notes that a client went away without its answer, or with back that one came
// for an answer that was owed.
func (r *Replica) Left(ctx context.Context, run int64, back bool) error {
	by := 1
	if back {
		by = -1
	}
	_, err := r.db.set(ctx, lazy, "UPDATE runs SET owed = owed + $2 WHERE id = $1", run, by)
	return err
}

// Delivered notes that a client has the whole answer.
func (r *Replica) Delivered(ctx context.Context, run int64) error {
	_, err := r.db.set(ctx, lazy, `UPDATE runs SET deliveries = deliveries + 1, delivered_at = clock_timestamp(), first_at = coalesce(first_at, clock_timestamp()) WHERE id = $1`, run)
	return err
}

// Watch notes that this gateway has clients for a run of another one, or no more.
func (r *Replica) Watch(ctx context.Context, run int64, n int) error {
	_, err := r.db.set(ctx, lazy, "INSERT INTO watchers AS w (run, replica, n) VALUES ($1, $2, $3) ON CONFLICT (run, replica) DO UPDATE SET n = w.n + excluded.n", run, r.id, n)
	return err
}

// Watched reports whether another gateway that lives has clients for a run.
func (r *Replica) Watched(ctx context.Context, run int64) (bool, error) {
	rows, err := r.db.query(ctx, `SELECT FROM watchers w JOIN replicas o ON o.id = w.replica
		WHERE w.run = $1 AND w.replica <> $2 AND w.n > 0 AND o.seen_at > now() - make_interval(secs => $3)`, run, r.id, r.cfg.Lease)
	return len(rows) > 0, err
}

// Stop stops the runs of a conversation that have not ended, on whatever gateway they
// are, and counts them. Those that wait end; one that was sent is interrupted.
func (r *Replica) Stop(ctx context.Context, token, conversation string, key []byte, interrupt func(context.Context) error) (n int, err error) {
	var sent []int64
	err = r.db.within(ctx, lazy, func(tx *conn) error {
		rows, err := tx.query(ctx, `UPDATE runs SET stop = 'user' WHERE conv = $1 AND ($2 = '' OR token = $2) AND ($3::bytea IS NULL OR key = $3) AND phase < 3 AND stop = ''
			RETURNING id, owner, phase`, conversation, token, optional(key))
		if err != nil {
			return err
		}
		n = len(rows)
		for _, found := range rows {
			if ledger.Phase(found.number(2)) != ledger.Queued {
				sent = append(sent, found.number(0))
			}
			if err := r.tell(ctx, tx, found.number(0), found.number(1)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, run := range sent { // one at most
		err = errors.Join(err, r.interrupt(ctx, conversation, run, interrupt))
	}
	return n, err
}

// StopRun is Stop for one run.
func (r *Replica) StopRun(ctx context.Context, run int64, interrupt func(context.Context) error) (stopped bool, err error) {
	var found []row
	err = r.db.within(ctx, lazy, func(tx *conn) error {
		found, err = tx.query(ctx, "UPDATE runs SET stop = 'user' WHERE id = $1 AND phase < 3 AND stop = '' RETURNING owner, phase, conv", run)
		if err != nil || len(found) == 0 {
			return err
		}
		return r.tell(ctx, tx, run, found[0].number(0))
	})
	if err != nil || len(found) == 0 {
		return false, err
	}
	if ledger.Phase(found[0].number(1)) != ledger.Queued {
		err = r.interrupt(ctx, found[0].text(2), run, interrupt)
	}
	return true, err
}

// interrupt calls interrupt if a run goes on. The lock keeps the next one of the
// conversation from beginning meanwhile.
func (r *Replica) interrupt(ctx context.Context, conversation string, run int64, interrupt func(context.Context) error) error {
	return r.db.within(ctx, lazy, func(tx *conn) error {
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

const (
	// maxOrphans is how many runs of dead gateways one takes over at a time: new
	// requests come first.
	maxOrphans = 8
	// reaperLock lets one gateway at a time look for them.
	reaperLock = 0x6f6872
	// keepPlace is how long a run that waits keeps its place without a gateway.
	keepPlace = 10 * time.Second
)

// deadOwnersSQL are the gateways that are dead and have runs.
const deadOwnersSQL = `owners AS MATERIALIZED (SELECT DISTINCT owner FROM runs WHERE phase < 3 AND owner <> $1),
	dead AS MATERIALIZED (SELECT r.owner FROM owners r WHERE ` + deadSQL + `)`

// Orphans takes over runs that were sent and whose gateways are dead. Those that were
// not sent wait for whoever asks for them again, and are forgotten after keepPlace.
func (r *Replica) Orphans(ctx context.Context) (taken []Found, err error) {
	err = r.db.within(ctx, lazy, func(tx *conn) error {
		mine, err := tx.query(ctx, "SELECT pg_try_advisory_xact_lock($1)", reaperLock)
		if err != nil || !mine[0].isTrue(0) {
			return err
		}
		if err := r.forgetAlone(ctx, tx); err != nil {
			return err
		}
		rows, err := tx.query(ctx, "WITH "+deadOwnersSQL+`,
			orphans AS (SELECT id FROM runs WHERE phase IN (1, 2) AND owner IN (SELECT owner FROM dead) ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)
			UPDATE runs r SET owner = $1, epoch = r.epoch + 1 FROM orphans l WHERE r.id = l.id RETURNING `+columnsSQL, r.id, r.cfg.Lease, maxOrphans)
		if err != nil {
			return err
		}
		for _, at := range rows {
			f, err := foundIn(at)
			if err != nil {
				return err
			}
			f.Kind = ledger.Taken
			taken = append(taken, f)
		}
		if len(taken) > 0 {
			return tx.takesOver(ctx)
		}
		return nil
	})
	return taken, err
}

// Owned are the runs that this gateway looks after.
func (r *Replica) Owned(ctx context.Context) ([]Ticket, error) {
	rows, err := r.db.query(ctx, "SELECT id, epoch FROM runs WHERE owner = $1 AND phase < 3", r.id)
	tickets := make([]Ticket, len(rows))
	for i, at := range rows {
		tickets[i] = Ticket{Run: at.number(0), Epoch: at.number(1)}
	}
	return tickets, err
}

// forgetAlone forgets the runs that wait and have no gateway.
func (r *Replica) forgetAlone(ctx context.Context, tx *conn) error {
	// A gateway whose session broke is back a moment later.
	_, err := tx.query(ctx, "WITH "+deadOwnersSQL+` UPDATE runs SET alone_at = CASE WHEN alone_at IS NULL THEN now() END
		WHERE phase = 0 AND (alone_at IS NULL) = (owner IN (SELECT owner FROM dead))`, r.id, r.cfg.Lease)
	if err != nil {
		return err
	}
	rows, err := tx.query(ctx, `WITH e AS (DELETE FROM runs WHERE phase = 0 AND alone_at < now() - make_interval(secs => $1) RETURNING id),
		s AS (UPDATE slots SET run = NULL FROM e WHERE run = e.id) SELECT id FROM e`, keepPlace)
	if err != nil || len(rows) == 0 {
		return err
	}
	found, err := tx.batch(ctx, []statement{r.admission()})
	if err == nil {
		r.admitted(found[0]) // told too early at worst: it is looked again
	}
	return err
}

// maxSwept is how many rows one sweep removes in one commit.
const maxSwept = 500

// Sweep forgets runs that ended so long ago: with a key, and without. It also forgets
// gateways that are dead for as long as the first, and reports how many runs it forgot.
func (r *Replica) Sweep(ctx context.Context, keyed, unkeyed time.Duration) (n int, err error) {
	for {
		rows, err := r.db.query(ctx, `DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE phase = 3
			AND ended_at < now() - make_interval(secs => CASE WHEN key IS NULL THEN $2::float8 ELSE $1::float8 END) LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING id`, keyed, unkeyed, maxSwept)
		n += len(rows)
		if err != nil || len(rows) < maxSwept {
			break
		}
	}
	if err == nil {
		_, err = r.db.query(ctx, "DELETE FROM watchers w WHERE NOT EXISTS (SELECT FROM runs r WHERE r.id = w.run)")
	}
	if err == nil {
		_, err = r.db.query(ctx, "DELETE FROM usage_hours WHERE hour < now() - interval '2 hours'")
	}
	if err != nil {
		return n, err
	}
	_, err = r.db.query(ctx, "DELETE FROM replicas WHERE seen_at < now() - make_interval(secs => $1::float8)", keyed)
	return n, err
}
