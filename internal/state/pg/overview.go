package pg

import (
	"context"
	"time"
)

// Overview is what goes on in the database, for lists.
type Overview struct {
	Places

	Gateways []Gateway
}

// Places are the places for runs of all gateways together.
type Places struct {
	Slots   int
	Running int // runs that have one
	Waiting int // runs that wait for one, or for their conversation
}

// Gateway is a process that shares the database.
type Gateway struct {
	ID               int64
	Address, Version string
	Seen             time.Duration // since its last sign of life
	Dead             bool          // its runs are taken over
	Runs             int           // that it looks after
}

// Overview looks at the gateways, oldest first, and counts the runs that have not ended.
// lease is that of the gateways; 0: 15 s.
func (db *DB) Overview(ctx context.Context, lease time.Duration) (o Overview, err error) {
	if lease <= 0 {
		lease = defaultLease
	}
	err = db.with(ctx, func(c *conn) error {
		rows, err := c.query(ctx, `SELECT o.id, o.address, o.version, greatest(0, extract(epoch FROM now() - o.seen_at)),
				o.seen_at < now() - make_interval(secs => $1) OR (o.locked AND NOT EXISTS (SELECT FROM pg_locks l
					WHERE l.locktype = 'advisory' AND l.classid = $2::int AND l.objid = o.id AND l.granted AND l.mode = 'ExclusiveLock' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))),
				(SELECT count(*) FROM runs r WHERE r.owner = o.id AND r.phase < 3)
			FROM replicas o ORDER BY o.id`, lease, livingClass)
		if err != nil {
			return err
		}
		for _, r := range rows {
			o.Gateways = append(o.Gateways, Gateway{
				ID: r.number(0), Address: r.text(1), Version: r.text(2), Seen: time.Duration(r.float(3) * float64(time.Second)), Dead: r.isTrue(4), Runs: int(r.number(5)),
			})
		}
		o.Places, err = c.places(ctx)
		return err
	})
	return o, err
}

// Places counts the places.
func (db *DB) Places(ctx context.Context) (p Places, err error) {
	err = db.with(ctx, func(c *conn) error {
		p, err = c.places(ctx)
		return err
	})
	return p, err
}

func (c *conn) places(ctx context.Context) (Places, error) {
	rows, err := c.query(ctx, "SELECT (SELECT count(*) FROM slots), count(*) FILTER (WHERE slot IS NOT NULL), count(*) FILTER (WHERE slot IS NULL) FROM runs WHERE phase < 3")
	if err != nil {
		return Places{}, err
	}
	return Places{Slots: int(rows[0].number(0)), Running: int(rows[0].number(1)), Waiting: int(rows[0].number(2))}, nil
}
