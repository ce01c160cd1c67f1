package pg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// maxAgain is how many questions about runs that were there before a gateway asks at the same
// time. When another one dies, all its clients come at once: the other connections are left to
// new requests.
const maxAgain = 8

// Ledger is the runs of all gateways, as one of them sees them.
type Ledger struct {
	r     *Replica
	db    *DB
	again chan struct{} // holds one for each question about a run that was there before
}

var _ ledger.Ledger = (*Ledger)(nil)

// Ledger returns the runs of all gateways.
func (r *Replica) Ledger() *Ledger {
	return &Ledger{r: r, db: r.db, again: make(chan struct{}, maxAgain)}
}

// errFaster says that another gateway has made the run meanwhile.
var errFaster = errors.New("another gateway was faster")

// Claim finds the run that answers a request, or makes it.
func (l *Ledger) Claim(ctx context.Context, c ledger.Claim) (f ledger.Found, err error) {
	if f, err = l.claimNew(ctx, c); err != nil || f.Run != 0 {
		return f, err
	}
	for {
		err = l.withinAgain(ctx, func(tx *conn) error {
			f, err = l.claim(ctx, tx, c)
			return err
		})
		if !errors.Is(err, errFaster) && !isInTheWay(err) {
			return f, err
		}
	}
}

// withinAgain runs f in a transaction for a run that was there before; see maxAgain.
func (l *Ledger) withinAgain(ctx context.Context, f func(*conn) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.db.most, errBusy)
	defer cancel()
	select {
	case l.again <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.again }()
	return l.db.within(ctx, lazy, f)
}

// numberSQL is the number of a new run: microseconds since 2025, and then the sequence, which
// keeps those of one microsecond apart. After a crash of the database the sequence alone would
// give the numbers of lost commits again, and a gateway that still has such a run would take
// another one for it.
const numberSQL = `((extract(epoch FROM clock_timestamp()) - 1735689600) * 1000000)::bigint * 8192 + nextval('run_numbers') % 8192`

// claimNewSQL makes a run if none can answer the request and there is room for it.
const claimNewSQL = `WITH c AS (INSERT INTO conversations AS c (id, token, last_seq, once) SELECT $4, $1, 1, $11
		WHERE NOT EXISTS (SELECT FROM runs r WHERE r.token = $1 AND r.key = $2)
			AND NOT ($8 AND EXISTS (SELECT FROM runs r WHERE r.print = $3 AND r.token = $1 AND r.key IS NULL))
			AND (SELECT count(*) FROM runs WHERE phase = 0 AND slot IS NULL) < $9
			AND (SELECT count(*) FROM runs WHERE conv = $4 AND phase < 3) <= $10
		ON CONFLICT (id) DO UPDATE SET last_seq = c.last_seq + 1, used_at = now(), once = c.once OR $11,
			ends_at = CASE WHEN NOT $11 THEN c.ends_at END, tries = CASE WHEN $11 THEN 0 ELSE c.tries END RETURNING last_seq),
	r AS (INSERT INTO runs (id, token, key, print, conv, seq, owner, request, revision) SELECT ` + numberSQL + `, $1, $2, $3, $4, c.last_seq, $5, $6, $7 FROM c
		ON CONFLICT (token, key) WHERE key IS NOT NULL DO NOTHING RETURNING id, epoch),
	o AS (INSERT INTO owners (conv, token) SELECT $4, $1 FROM r WHERE $12 ON CONFLICT (conv) DO UPDATE SET token = excluded.token)
	SELECT id, epoch FROM r`

// newWait is how long the first try of a claim waits for others, in milliseconds: it leaves its
// connection to new requests.
const newWait = 200

// claimNew makes the run of a request that was not made before, as most are, and gives it a slot
// if one is free, in one round trip. What is not as simple as that is left to claim: the run is 0
// then.
func (l *Ledger) claimNew(ctx context.Context, c ledger.Claim) (ledger.Found, error) {
	joins := len(c.Key) == 0 && c.Joins != nil
	list := append(make([]statement, 0, 5), statement{"SELECT set_config('lock_timeout', $1, true)", []any{newWait}})
	if joins {
		list = append(list, lockPrint(c))
	}
	cfg := l.r.cfg
	found, err := l.db.write(ctx, lazy, append(list,
		statement{"SELECT FROM conversations WHERE id = $1 FOR UPDATE", []any{c.Conversation}}, // what is counted is what is there then
		statement{claimNewSQL, []any{c.Token, optional(c.Key), c.Print, c.Conversation, l.r.id, c.Request, c.Revision, joins, cfg.MaxQueue, cfg.MaxLane, c.Once, c.Owned}},
		l.admission())...)
	if isInTheWay(err) {
		return ledger.Found{}, nil
	}
	if err != nil {
		return ledger.Found{}, err
	}
	made, next := found[len(found)-2], l.admitted(found[len(found)-1])
	if len(made) == 0 {
		return ledger.Found{}, nil
	}
	f := mine(c, made[0])
	f.Slot, f.Noted = next == f.Run, true
	return f, nil
}

// mine is the run that was made for a request.
func mine(c ledger.Claim, made row) ledger.Found {
	return ledger.Found{
		Ticket: ledger.Ticket{Run: made.number(0), Epoch: made.number(1)}, Kind: ledger.Mine, Conversation: c.Conversation, Token: c.Token, Print: c.Print, Request: c.Request,
	}
}

// lockPrint lets one request at a time look for earlier ones that asked for the same.
func lockPrint(c ledger.Claim) statement {
	return statement{"SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", []any{fmt.Sprintf("%s %x", c.Token, c.Print)}}
}

// columnsSQL are the columns that foundIn reads.
const columnsSQL = `r.id, r.epoch, r.phase, r.owner, r.conv, r.request, r.baseline, r.result, r.failed, r.stop, r.print, r.token, r.usage`

// foundIn reads a run.
func foundIn(r row) (f ledger.Found, err error) {
	f = ledger.Found{
		Ticket: ledger.Ticket{Run: r.number(0), Epoch: r.number(1)}, Phase: ledger.Phase(r.number(2)), Conversation: r.text(4), Request: r.bytes(5), Token: r.text(11), Print: r.bytes(10),
		Ending: ledger.Ending{Result: r.bytes(7), Failed: r.isTrue(8), Stop: r.text(9)},
	}
	if !r.isNull(6) {
		err = json.Unmarshal(r.bytes(6), &f.Baseline)
	}
	if !r.isNull(12) {
		err = errors.Join(err, json.Unmarshal(r[12], &f.Ending.Usage))
	}
	if err != nil {
		err = fmt.Errorf("read run %d: %w", f.Run, err)
	}
	return f, err
}

// pastSQL are the columns that pastIn reads, after those of columnsSQL.
const pastSQL = `, r.owed, r.deliveries, r.revision, extract(epoch FROM r.ended_at), extract(epoch FROM r.first_at), extract(epoch FROM r.delivered_at), extract(epoch FROM clock_timestamp())`

// pastIn reads what the rule of joining knows of a run.
func pastIn(r row) ledger.Past {
	return ledger.Past{
		Run: r.number(0), Stopped: r.text(9) != "", Ended: ledger.Phase(r.number(2)) == ledger.Ended, Failed: r.isTrue(8), Owed: int(r.number(13)), Deliveries: int(r.number(14)),
		Revision: r.text(15), EndedAt: r.moment(16), FirstAt: r.moment(17), DeliveredAt: r.moment(18), Now: r.moment(19),
	}
}

// wait waits for ch, and at most until lookAgain.
func wait(ctx context.Context, ch <-chan struct{}) error {
	timer := time.NewTimer(lookAgain)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
