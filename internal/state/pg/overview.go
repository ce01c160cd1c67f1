package pg

import (
	"context"
	"time"
)

// Overview is what goes on at all gateways, for lists.
type Overview struct {
	Slots    int // for runs
	Running  int // runs that have one
	Waiting  int // runs that wait for one, or for their conversation
	Gateways []Gateway
}

// Gateway is a process that shares the database.
type Gateway struct {
	ID               int64
	Address, Version string
	Seen             time.Duration // since its last sign of life
	Dead             bool          // its runs are taken over
	Runs             int           // that it looks after
}

// Overview lists the gateways, oldest first, and counts the runs that have not ended. The lease is
// that of the gateways; 0: 15 s.
func (db *DB) Overview(ctx context.Context, lease time.Duration) (o Overview, err error) {
	if lease <= 0 {
		lease = defaultLease
	}
	err = db.with(ctx, func(c *conn) error {
		found, err := c.batch(ctx, []statement{
			{`SELECT o.id, o.address, o.version, greatest(0, extract(epoch FROM now() - o.seen_at)),
				o.seen_at < now() - make_interval(secs => $1) OR (o.locked AND NOT EXISTS (SELECT FROM pg_locks l
					WHERE l.locktype = 'advisory' AND l.classid = $2::int AND l.objid = o.id AND l.granted AND l.mode = 'ExclusiveLock' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))),
				(SELECT count(*) FROM runs r WHERE r.owner = o.id AND r.phase < 3)
			FROM replicas o ORDER BY o.id`, []any{lease, livingClass}},
			{sql: "SELECT (SELECT count(*) FROM slots), count(*) FILTER (WHERE slot IS NOT NULL), count(*) FILTER (WHERE slot IS NULL) FROM runs WHERE phase < 3"},
		})
		if err != nil {
			return err
		}
		for _, r := range found[0] {
			o.Gateways = append(o.Gateways, Gateway{
				ID: r.number(0), Address: r.text(1), Version: r.text(2), Seen: time.Duration(r.float(3) * float64(time.Second)), Dead: r.isTrue(4), Runs: int(r.number(5)),
			})
		}
		runs := found[1][0]
		o.Slots, o.Running, o.Waiting = int(runs.number(0)), int(runs.number(1)), int(runs.number(2))
		return nil
	})
	return o, err
}
