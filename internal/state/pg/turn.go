package pg

import (
	"context"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// aheadSQL is whether another run of the conversation comes before r.
const aheadSQL = `EXISTS (SELECT FROM runs a WHERE a.conv = r.conv AND a.seq < r.seq AND a.phase < 3)`

// admitSQL gives a free slot to the run that is next: the first of its conversation, whose gateway
// lives, of the token with the fewest runs, then the oldest.
const admitSQL = `WITH free AS (SELECT n FROM slots WHERE run IS NULL AND n <= (SELECT runs FROM limits WHERE one) ORDER BY n LIMIT 1 FOR UPDATE SKIP LOCKED),
	next AS (SELECT r.id, r.owner FROM runs r WHERE r.phase = 0 AND r.slot IS NULL AND EXISTS (SELECT FROM free) AND NOT ` + aheadSQL + `
		AND EXISTS (SELECT FROM replicas o WHERE o.id = r.owner AND o.seen_at > now() - make_interval(secs => $1))
		ORDER BY (SELECT count(*) FROM runs o WHERE o.token = r.token AND o.slot IS NOT NULL AND o.phase < 3), r.id LIMIT 1 FOR UPDATE OF r SKIP LOCKED),
	took AS (UPDATE slots s SET run = next.id FROM free, next WHERE s.n = free.n RETURNING s.n, s.run),
	now AS (UPDATE runs r SET slot = took.n FROM took WHERE r.id = took.run RETURNING r.id, r.owner)
	SELECT id, owner, CASE WHEN owner <> $2 THEN pg_notify('` + channel + `', 'run ' || id) END FROM now`

// admission fills a free slot, and wakes the other gateway whose run that is.
func (l *Ledger) admission() statement { return statement{admitSQL, []any{l.r.cfg.Lease, l.r.id}} }

// admitted wakes who waits for the run at this gateway, once it is committed, and returns the run
// that was admitted; 0 for none.
func (l *Ledger) admitted(rows []row) int64 {
	if len(rows) == 0 {
		return 0
	}
	run := rows[0].number(0)
	if rows[0].number(1) == l.r.id {
		l.r.bells.ring(run)
	}
	return run
}

// Turn waits until a run is the first of its conversation and has a slot.
func (l *Ledger) Turn(ctx context.Context, t ledger.Ticket) error {
	ch, take := l.r.bells.hang(t.Run)
	defer take()
	for {
		rows, err := l.db.query(ctx, "SELECT slot IS NOT NULL, stop FROM runs WHERE id = $1 AND epoch = $2 AND phase < 3", t.Run, t.Epoch)
		switch {
		case err != nil:
			return err
		case len(rows) == 0:
			return ledger.ErrFenced
		case rows[0].text(1) != "":
			return ledger.ErrStopped
		case rows[0].isTrue(0):
			return nil
		}
		found, err := l.db.write(ctx, lazy, l.admission())
		if err != nil {
			return err
		}
		if l.admitted(found[0]) == t.Run {
			continue // it is seen whether a client has stopped it
		}
		if err := wait(ctx, ch); err != nil {
			return err
		}
	}
}
