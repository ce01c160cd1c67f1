package pg

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

const (
	// maxOrphans is how many runs of dead gateways one takes over at a time: new requests come
	// first.
	maxOrphans = 8
	// reaperLock lets one gateway at a time look for them.
	reaperLock = 0x6f6872
	// keepPlace is how long a run that waits keeps its place without a gateway.
	keepPlace = 10 * time.Second
	// maxSwept is how many rows one sweep removes in one commit.
	maxSwept = 500
)

// deadOwnersSQL are the gateways that are dead and have runs.
const deadOwnersSQL = `owners AS MATERIALIZED (SELECT DISTINCT owner FROM runs WHERE phase < 3 AND owner <> $1),
	dead AS MATERIALIZED (SELECT r.owner FROM owners r WHERE ` + deadSQL + `)`

// Orphans takes over runs that were sent and whose gateways are dead. Those that were not sent
// wait for the gateway that asks for them again, and are forgotten after keepPlace.
func (l *Ledger) Orphans(ctx context.Context) (taken []ledger.Found, err error) {
	var admitted []row
	err = l.db.within(ctx, lazy, func(tx *conn) error {
		turn, err := tx.query(ctx, "SELECT pg_try_advisory_xact_lock($1)", reaperLock)
		if err != nil || !turn[0].isTrue(0) {
			return err
		}
		if admitted, err = l.forgetAlone(ctx, tx); err != nil {
			return err
		}
		rows, err := tx.query(ctx, "WITH "+deadOwnersSQL+`,
			orphans AS (SELECT id FROM runs WHERE phase IN (1, 2) AND owner IN (SELECT owner FROM dead) ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)
			UPDATE runs r SET owner = $1, epoch = r.epoch + 1 FROM orphans l WHERE r.id = l.id RETURNING `+columnsSQL, l.r.id, l.r.cfg.Lease, maxOrphans)
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
	if err != nil {
		return nil, err // whether they were taken over is not known
	}
	l.admitted(admitted)
	return taken, nil
}

// forgetAlone forgets the runs that wait and have no gateway, and gives a slot of theirs to the
// next.
func (l *Ledger) forgetAlone(ctx context.Context, tx *conn) (admitted []row, err error) {
	// A gateway whose session broke is back a moment later.
	_, err = tx.query(ctx, "WITH "+deadOwnersSQL+` UPDATE runs SET alone_at = CASE WHEN alone_at IS NULL THEN now() END
		WHERE phase = 0 AND (alone_at IS NULL) = (owner IN (SELECT owner FROM dead))`, l.r.id, l.r.cfg.Lease)
	if err != nil {
		return nil, err
	}
	rows, err := tx.query(ctx, "WITH e AS (DELETE FROM runs WHERE phase = 0 AND alone_at < now() - make_interval(secs => $1) RETURNING id), "+freeSQL+" SELECT id FROM e", keepPlace)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	found, err := tx.batch(ctx, []statement{l.admission()})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Sweep forgets runs that ended so long ago: with a key, and without. It also forgets gateways
// that have given no sign of life for as long as the first, and reports how many runs it forgot.
func (r *Replica) Sweep(ctx context.Context, keyed, unkeyed time.Duration) (n int, err error) {
	const oldSQL = "DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE phase = 3 AND ended_at < now() - make_interval(secs => $1) AND key IS "
	const nextSQL = " LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id"
	for sql, age := range map[string]time.Duration{oldSQL + "NOT NULL" + nextSQL: keyed, oldSQL + "NULL" + nextSQL: unkeyed} {
		for {
			rows, err := r.db.query(ctx, sql, age, maxSwept)
			n += len(rows)
			if err != nil {
				return n, err
			}
			if len(rows) < maxSwept {
				break
			}
		}
	}
	_, err = r.db.write(ctx, lazy,
		statement{sql: "DELETE FROM watchers w WHERE NOT EXISTS (SELECT FROM runs r WHERE r.id = w.run)"},
		statement{"DELETE FROM replicas WHERE seen_at < now() - make_interval(secs => $1)", []any{keyed}})
	return n, err
}
