package pg

import (
	"context"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// deadSQL is whether the owner of a run is dead: its session is gone, which shows at once after a
// crash, or it gave no sign of life for a lease. $1 is this gateway, $2 the lease, and 28520 is
// livingClass. A gateway without a session has the lease only. The lock that asks is a shared
// one: two that ask at once must not take each other for the owner.
const deadSQL = `(r.owner <> $1 AND NOT EXISTS (SELECT FROM replicas o WHERE o.id = r.owner AND o.seen_at > now() - make_interval(secs => $2)
	AND (NOT o.locked OR NOT pg_try_advisory_xact_lock_shared(28520, o.id::int))))`

// resolve says what a run is to this gateway, and takes it over from a dead one.
func (l *Ledger) resolve(ctx context.Context, tx *conn, at row) (ledger.Found, error) {
	f, err := l.see(at)
	if err != nil || f.Kind != ledger.There {
		return f, err
	}
	rows, err := tx.query(ctx, "UPDATE runs r SET owner = $1, epoch = r.epoch + 1, alone_at = NULL WHERE r.id = $3 AND r.phase < 3 AND "+deadSQL+" RETURNING r.epoch", l.r.id, l.r.cfg.Lease, f.Run)
	if err == nil && len(rows) > 0 {
		f.Kind, f.Epoch = ledger.Taken, rows[0].number(0)
		err = tx.takesOver(ctx)
	}
	return f, err
}

// see says what a run is to this gateway.
func (l *Ledger) see(at row) (ledger.Found, error) {
	f, err := foundIn(at)
	switch f.Kind = ledger.There; {
	case f.Phase == ledger.Ended:
		f.Kind = ledger.Closed
	case at.number(3) == l.r.id:
		f.Kind = ledger.Here
	}
	return f, err
}

// takesOver makes the commit wait for the disk. Otherwise a crash of the database would take an
// epoch back, and give it to another gateway while this one has it, too.
func (c *conn) takesOver(ctx context.Context) error {
	s := durable.commits()
	_, err := c.query(ctx, s.sql, s.args...)
	return err
}

// Find returns a run as it is now, taken over if its gateway is dead.
func (l *Ledger) Find(ctx context.Context, run int64) (f ledger.Found, err error) {
	err = l.withinAgain(ctx, func(tx *conn) error {
		rows, err := tx.query(ctx, "SELECT "+columnsSQL+" FROM runs r WHERE r.id = $1 FOR UPDATE", run)
		if err == nil && len(rows) == 0 {
			err = ledger.ErrFenced
		}
		if err == nil {
			f, err = l.resolve(ctx, tx, rows[0])
		}
		return err
	})
	return f, err
}

// Runs lists those of a conversation that are known still, in their order.
func (l *Ledger) Runs(ctx context.Context, conversation string) (list []ledger.Found, err error) {
	rows, err := l.db.query(ctx, "SELECT "+columnsSQL+" FROM runs r WHERE r.conv = $1 AND r.phase < 3 UNION ALL SELECT "+columnsSQL+" FROM runs r WHERE r.conv = $1 AND r.phase = 3 ORDER BY 1", conversation)
	for _, at := range rows {
		f, err := l.see(at)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, err
}

// Await waits until a run that another gateway looks after is over, or that gateway is dead and
// the run this one's.
func (l *Ledger) Await(ctx context.Context, run int64) (ledger.Found, error) {
	ch, take := l.r.bells.hang(run)
	defer take()
	for {
		f, err := l.Find(ctx, run)
		if err != nil || f.Kind != ledger.There {
			return f, err
		}
		if err := wait(ctx, ch); err != nil {
			return ledger.Found{}, err
		}
	}
}

// Owned lists the runs that this gateway looks after.
func (l *Ledger) Owned(ctx context.Context) ([]ledger.Ticket, error) {
	rows, err := l.db.query(ctx, "SELECT id, epoch FROM runs WHERE owner = $1 AND phase < 3", l.r.id)
	tickets := make([]ledger.Ticket, len(rows))
	for i, at := range rows {
		tickets[i] = ledger.Ticket{Run: at.number(0), Epoch: at.number(1)}
	}
	return tickets, err
}
