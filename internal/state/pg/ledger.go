package pg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

type (
	// Ticket is that of the ledger.
	Ticket = ledger.Ticket
	// Claim is that of the ledger.
	Claim = ledger.Claim
	// Past is that of the ledger.
	Past = ledger.Past
	// Found is that of the ledger.
	Found = ledger.Found
	// Ending is that of the ledger.
	Ending = ledger.Ending
)

// historySQL is what the rule of joining knows of a run, after columnsSQL.
const historySQL = `, r.owed, r.deliveries, r.revision, extract(epoch FROM r.ended_at), extract(epoch FROM r.first_at), extract(epoch FROM r.delivered_at), extract(epoch FROM clock_timestamp())`

// deadSQL is whether the owner of a run is dead: its session is gone, which shows at
// once after a crash, or it gave no sign of life for a lease. $1 is this gateway,
// $2 the lease, and 28520 is livingClass. A gateway without a session has the lease only.
// The lock that asks is a shared one: two that ask at once must not take each other for
// the owner.
const deadSQL = `(r.owner <> $1 AND NOT EXISTS (SELECT FROM replicas o WHERE o.id = r.owner AND o.seen_at > now() - make_interval(secs => $2)
	AND (NOT o.locked OR NOT pg_try_advisory_xact_lock_shared(28520, o.id::int))))`

const columnsSQL = `r.id, r.epoch, r.phase, r.owner, r.conv, r.request, r.baseline, r.result, r.failed, r.stop, r.print, r.token`

func foundIn(r row) (f Found, err error) {
	f = Found{
		Ticket: Ticket{Run: r.number(0), Epoch: r.number(1)}, Phase: ledger.Phase(r.number(2)), Conversation: r.text(4), Request: r.bytes(5), Token: r.text(11), Print: r.bytes(10),
		Ending: Ending{Result: r.bytes(7), Failed: r.isTrue(8), Stop: r.text(9)},
	}
	if !r.isNull(6) {
		err = json.Unmarshal(r.bytes(6), &f.Baseline)
	}
	return f, err
}

// errAgain says that another gateway was faster.
var errAgain = errors.New("another gateway was faster")

// Claim finds the run that answers a request, or makes it. When it says Mine or Taken,
// the caller looks after the run until it calls End, Drop or Release.
func (r *Replica) Claim(ctx context.Context, c Claim) (f Found, err error) {
	if f, err = r.claimNew(ctx, c); err != nil || f.Run != 0 {
		return f, err
	}
	for {
		err = r.withinAgain(ctx, func(tx *conn) error {
			f, err = r.claim(ctx, tx, c)
			return err
		})
		if !errors.Is(err, errAgain) && !isInTheWay(err) {
			return f, err
		}
	}
}

// withinAgain is within for a run that was there before; see maxAgain.
func (r *Replica) withinAgain(ctx context.Context, f func(*conn) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.db.most, errBusy)
	defer cancel()
	select {
	case r.again <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.again }()
	return r.db.within(ctx, lazy, f)
}

// runSQL is the id of a new run: microseconds since 2025, and then the sequence, which
// tells those of one microsecond apart. After a crash of the database the sequence alone
// would give the ids of lost commits again, and a gateway that still has such a run would
// take another one for it.
const runSQL = `((extract(epoch FROM clock_timestamp()) - 1735689600) * 1000000)::bigint * 8192 + nextval('runs_id_seq') % 8192`

// claimNewSQL makes a run if none can answer the request and there is room for it.
const claimNewSQL = `WITH c AS (INSERT INTO conversations AS c (id, token, last_seq, once) SELECT $4, $1, 1, $11
		WHERE NOT EXISTS (SELECT FROM runs r WHERE r.token = $1 AND r.key = $2)
			AND NOT ($8 AND EXISTS (SELECT FROM runs r WHERE r.print = $3 AND r.token = $1 AND r.key IS NULL))
			AND (SELECT count(*) FROM runs WHERE phase = 0 AND slot IS NULL) < $9
			AND (SELECT count(*) FROM runs WHERE conv = $4 AND phase < 3) <= $10
		ON CONFLICT (id) DO UPDATE SET last_seq = c.last_seq + 1, used_at = now(), once = c.once OR $11,
			ends_at = CASE WHEN NOT $11 THEN c.ends_at END, tries = CASE WHEN $11 THEN 0 ELSE c.tries END RETURNING last_seq),
	r AS (INSERT INTO runs (id, token, key, print, conv, seq, owner, request, revision) SELECT ` + runSQL + `, $1, $2, $3, $4, c.last_seq, $5, $6, $7 FROM c
		ON CONFLICT (token, key) WHERE key IS NOT NULL DO NOTHING RETURNING id, epoch),
	o AS (INSERT INTO owners (conv, token) SELECT $4, $1 FROM r WHERE $12 ON CONFLICT (conv) DO UPDATE SET token = excluded.token)
	SELECT id, epoch FROM r`

// newWait is how long the first try of a claim waits for others, in milliseconds: it is to
// leave its connection to new requests.
const newWait = 200

// claimNew makes the run of a request that nobody has made before, as most are, and
// gives it a slot if one is free, in one round trip. What is not as simple as that is
// claim's: the run is 0 then.
func (r *Replica) claimNew(ctx context.Context, c Claim) (Found, error) {
	joins := len(c.Key) == 0 && c.Joins != nil
	list := append(make([]statement, 0, 5), statement{"SELECT set_config('lock_timeout', $1, true)", []any{newWait}})
	if joins {
		list = append(list, lockPrint(c))
	}
	found, err := r.db.write(ctx, lazy, append(list,
		statement{"SELECT FROM conversations WHERE id = $1 FOR UPDATE", []any{c.Conversation}}, // what is counted is what is there then
		statement{claimNewSQL, []any{c.Token, optional(c.Key), c.Print, c.Conversation, r.id, c.Request, c.Revision, joins, r.cfg.MaxQueue, r.cfg.MaxLane, c.Once, c.Owned}},
		r.admission())...)
	if isInTheWay(err) {
		return Found{}, nil
	}
	if err != nil {
		return Found{}, err
	}
	made, next := found[len(found)-2], r.admitted(found[len(found)-1])
	if len(made) == 0 {
		return Found{}, nil
	}
	f := mine(c, made[0])
	f.Slot, f.Noted = next == f.Run, true
	return f, nil
}

// mine is the run that was made for a request.
func mine(c Claim, made row) Found {
	return Found{Ticket: Ticket{Run: made.number(0), Epoch: made.number(1)}, Kind: ledger.Mine, Conversation: c.Conversation, Token: c.Token, Request: c.Request}
}

// lockPrint lets one request at a time look for earlier ones that asked for the same.
func lockPrint(c Claim) statement {
	return statement{"SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", []any{fmt.Sprintf("%s %x", c.Token, c.Print)}}
}

func (r *Replica) claim(ctx context.Context, tx *conn, c Claim) (Found, error) {
	at, err := r.earlier(ctx, tx, c)
	if err != nil {
		return Found{}, err
	}
	if at != nil {
		return r.resolve(ctx, tx, at)
	}
	if err := r.admits(ctx, tx, c); err != nil {
		return Found{}, err
	}
	// The conversation's row is locked to the end: the order of seq is that of the commits.
	rows, err := tx.query(ctx, `INSERT INTO conversations (id, token, last_seq) VALUES ($1, $2, 1)
		ON CONFLICT (id) DO UPDATE SET last_seq = conversations.last_seq + 1, used_at = now() RETURNING last_seq`, c.Conversation, c.Token)
	if err != nil {
		return Found{}, err
	}
	seq := rows[0].number(0)
	rows, err = tx.query(ctx, "SELECT count(*) FROM runs WHERE conv = $1 AND phase < 3", c.Conversation)
	if err == nil && rows[0].number(0) > int64(r.cfg.MaxLane) {
		err = ledger.ErrLaneFull
	}
	if err != nil {
		return Found{}, err
	}
	rows, err = tx.query(ctx, `INSERT INTO runs (id, token, key, print, conv, seq, owner, request, revision) VALUES (`+runSQL+`, $1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (token, key) WHERE key IS NOT NULL DO NOTHING RETURNING id, epoch`,
		c.Token, optional(c.Key), c.Print, c.Conversation, seq, r.id, c.Request, c.Revision)
	if err != nil {
		return Found{}, err
	}
	if len(rows) == 0 {
		return Found{}, errAgain
	}
	return mine(c, rows[0]), nil
}

// optional is a key, or NULL.
func optional(key []byte) any {
	if len(key) == 0 {
		return nil
	}
	return key
}

// admits refuses a request for which there is no place. A token with less than an
// equal share of the places gets one all the same.
func (r *Replica) admits(ctx context.Context, tx *conn, c Claim) error {
	// Most of the time few wait. All runs are counted only where that does not decide.
	rows, err := tx.query(ctx, "SELECT count(*) FROM runs WHERE phase = 0 AND slot IS NULL")
	if err != nil || rows[0].number(0) < int64(r.cfg.MaxQueue) {
		return err
	}
	rows, err = tx.query(ctx, `SELECT count(*), count(*) FILTER (WHERE token = $1), count(DISTINCT token) FILTER (WHERE token <> $1) FROM runs WHERE phase < 3`, c.Token)
	if err != nil {
		return err
	}
	places := r.runs.Load() + int64(r.cfg.MaxQueue)
	all, own, tokens := rows[0].number(0), rows[0].number(1), rows[0].number(2)+1
	if all < places || r.cfg.MaxQueue > 0 && own < max(1, places/tokens) {
		return nil
	}
	return ledger.ErrQueueFull
}

// earlier is the row of the run that answers a request already; nil: there is none.
func (r *Replica) earlier(ctx context.Context, tx *conn, c Claim) (row, error) {
	if len(c.Key) > 0 {
		rows, err := tx.query(ctx, "SELECT "+columnsSQL+" FROM runs r WHERE r.token = $1 AND r.key = $2 FOR UPDATE", c.Token, c.Key)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		if string(rows[0].bytes(10)) != string(c.Print) {
			return nil, ledger.ErrConflict
		}
		return rows[0], nil
	}
	if c.Joins == nil {
		return nil, nil
	}
	found, err := tx.batch(ctx, []statement{
		lockPrint(c),
		{"SELECT " + columnsSQL + historySQL + " FROM runs r WHERE r.print = $1 AND r.token = $2 AND r.key IS NULL ORDER BY r.id FOR UPDATE", []any{c.Print, c.Token}},
	})
	if err != nil {
		return nil, err
	}
	rows := found[1]
	past := make([]Past, len(rows))
	for i, p := range rows {
		past[i] = Past{
			Run: p.number(0), Stopped: p.text(9) != "", Ended: ledger.Phase(p.number(2)) == ledger.Ended, Failed: p.isTrue(8), Owed: int(p.number(12)), Deliveries: int(p.number(13)),
			Revision: p.text(14), EndedAt: p.moment(15), FirstAt: p.moment(16), DeliveredAt: p.moment(17), Now: p.moment(18),
		}
	}
	if i := c.Joins(past); i >= 0 {
		return rows[i], nil
	}
	return nil, nil
}

// resolve says what a run is to this gateway, and takes it over from a dead one.
func (r *Replica) resolve(ctx context.Context, tx *conn, at row) (Found, error) {
	f, err := foundIn(at)
	if err != nil {
		return Found{}, err
	}
	owner := at.number(3)
	switch {
	case f.Phase == ledger.Ended:
		f.Kind = ledger.Closed
		return f, nil
	case owner == r.id:
		f.Kind = ledger.Here
		return f, nil
	}
	rows, err := tx.query(ctx, "UPDATE runs r SET owner = $1, epoch = r.epoch + 1, alone_at = NULL WHERE r.id = $3 AND r.phase < 3 AND "+deadSQL+" RETURNING r.epoch", r.id, r.cfg.Lease, f.Run)
	if err != nil {
		return Found{}, err
	}
	f.Kind = ledger.There
	if len(rows) > 0 {
		f.Kind, f.Epoch = ledger.Taken, rows[0].number(0)
		err = tx.takesOver(ctx)
	}
	return f, err
}

// takesOver makes the commit wait for the disk. A crash of the database would take an
// epoch back otherwise, and give it to another gateway while this one has it, too.
func (c *conn) takesOver(ctx context.Context) error {
	s := durable.commits()
	_, err := c.query(ctx, s.sql, s.args...)
	return err
}

// Find is a run as it is now, taken over if its gateway is dead.
func (r *Replica) Find(ctx context.Context, run int64) (f Found, err error) {
	err = r.withinAgain(ctx, func(tx *conn) error {
		rows, err := tx.query(ctx, "SELECT "+columnsSQL+" FROM runs r WHERE r.id = $1 FOR UPDATE", run)
		if err == nil && len(rows) == 0 {
			err = ledger.ErrFenced
		}
		if err == nil {
			f, err = r.resolve(ctx, tx, rows[0])
		}
		return err
	})
	return f, err
}

// Runs are those of a conversation that are known still.
func (r *Replica) Runs(ctx context.Context, conversation string) (list []Found, err error) {
	rows, err := r.db.query(ctx, "SELECT "+columnsSQL+" FROM runs r WHERE r.conv = $1 AND r.phase < 3 UNION ALL SELECT "+columnsSQL+" FROM runs r WHERE r.conv = $1 AND r.phase = 3", conversation)
	for _, at := range rows {
		f, err := foundIn(at)
		if err != nil {
			return nil, err
		}
		switch f.Kind = ledger.There; {
		case f.Phase == ledger.Ended:
			f.Kind = ledger.Closed
		case at.number(3) == r.id:
			f.Kind = ledger.Here
		}
		list = append(list, f)
	}
	return list, err
}

// Await waits until a run that another gateway looks after is over, or that gateway
// is dead and the run this one's.
func (r *Replica) Await(ctx context.Context, run int64) (Found, error) {
	ch, stop := r.watch(run)
	defer stop()
	for {
		f, err := r.Find(ctx, run)
		if err != nil || f.Kind != ledger.There {
			return f, err
		}
		if err := pause(ctx, ch); err != nil {
			return Found{}, err
		}
	}
}

// pause waits for ch, and for lookAgain at most.
func pause(ctx context.Context, ch <-chan struct{}) error {
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

// aheadSQL is whether another run of the conversation comes before r.
const aheadSQL = `EXISTS (SELECT FROM runs a WHERE a.conv = r.conv AND a.seq < r.seq AND a.phase < 3)`

// admitSQL gives a free slot to the run that is next: the first of its conversation,
// whose gateway lives, of the token with the fewest runs, then the oldest.
const admitSQL = `WITH free AS (SELECT n FROM slots WHERE run IS NULL ORDER BY n LIMIT 1 FOR UPDATE SKIP LOCKED),
	next AS (SELECT r.id, r.owner FROM runs r WHERE r.phase = 0 AND r.slot IS NULL AND EXISTS (SELECT FROM free) AND NOT ` + aheadSQL + `
		AND EXISTS (SELECT FROM replicas o WHERE o.id = r.owner AND o.seen_at > now() - make_interval(secs => $1))
		ORDER BY (SELECT count(*) FROM runs o WHERE o.token = r.token AND o.slot IS NOT NULL AND o.phase < 3), r.id LIMIT 1 FOR UPDATE OF r SKIP LOCKED),
	took AS (UPDATE slots s SET run = next.id FROM free, next WHERE s.n = free.n RETURNING s.n, s.run),
	now AS (UPDATE runs r SET slot = took.n FROM took WHERE r.id = took.run RETURNING r.id, r.owner)
	SELECT id, owner, CASE WHEN owner <> $2 THEN pg_notify('` + channel + `', 'run ' || id) END FROM now`

// admission fills a free slot, and tells the gateway that waits for it.
func (r *Replica) admission() statement { return statement{admitSQL, []any{r.cfg.Lease, r.id}} }

// admitted tells the same within this gateway, once it is committed. It gives the run
// that was admitted; 0: none was.
func (r *Replica) admitted(rows []row) int64 {
	if len(rows) == 0 {
		return 0
	}
	run := rows[0].number(0)
	if rows[0].number(1) == r.id {
		r.mu.Lock()
		defer r.mu.Unlock()
		wake(r.waits[run])
	}
	return run
}

// tell wakes who waits for a run, here or elsewhere.
func (r *Replica) tell(ctx context.Context, c *conn, run, owner int64) error {
	if owner == r.id {
		r.mu.Lock()
		defer r.mu.Unlock()
		wake(r.waits[run])
		return nil
	}
	_, err := c.query(ctx, "SELECT pg_notify('"+channel+"', $1)", fmt.Sprintf("run %d", run))
	return err
}

// Turn waits until a run is the first of its conversation and has a slot.
func (r *Replica) Turn(ctx context.Context, t Ticket) error {
	ch, stop := r.watch(t.Run)
	defer stop()
	for {
		rows, err := r.db.query(ctx, "SELECT slot IS NOT NULL, stop FROM runs WHERE id = $1 AND epoch = $2 AND phase < 3", t.Run, t.Epoch)
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
		found, err := r.db.write(ctx, lazy, r.admission())
		if err != nil {
			return err
		}
		if r.admitted(found[0]) == t.Run {
			continue // it is seen whether somebody has stopped it
		}
		if err := pause(ctx, ch); err != nil {
			return err
		}
	}
}

// Sending notes where a turn begins, before anything of it is sent. With a key the
// note is on the database's disk when it returns.
func (r *Replica) Sending(ctx context.Context, t Ticket, base turn.Baseline, request []byte, keyed bool) error {
	if err := r.live(ctx); err != nil {
		return err
	}
	data, err := json.Marshal(base)
	if err != nil {
		return err
	}
	// The lock waits for a late run that is being stopped; see Started.
	rows, err := r.db.set(ctx, durability(keyed), `WITH c AS MATERIALIZED (SELECT c.id FROM conversations c JOIN runs r ON r.conv = c.id WHERE r.id = $1 FOR UPDATE OF c)
		UPDATE runs r SET phase = 1, baseline = $3, request = coalesce($4, r.request) FROM c
		WHERE r.conv = c.id AND r.id = $1 AND r.epoch = $2 AND r.phase = 0 AND r.stop = '' AND r.slot IS NOT NULL AND NOT `+aheadSQL+` RETURNING r.id`,
		t.Run, t.Epoch, data, request)
	if err == nil && len(rows) == 0 {
		err = r.whyNot(ctx, t)
	}
	return err
}

// whyNot is why a run cannot be sent: somebody stopped it, or it is another gateway's.
func (r *Replica) whyNot(ctx context.Context, t Ticket) error {
	rows, err := r.db.query(ctx, "SELECT FROM runs WHERE id = $1 AND epoch = $2 AND phase = 0 AND stop <> ''", t.Run, t.Epoch)
	switch {
	case err != nil:
		return err
	case len(rows) > 0:
		return ledger.ErrStopped
	}
	return ledger.ErrFenced
}

// Secure waits until all that was noted before is on the database's disk. The message is
// there only for its commit.
func (r *Replica) Secure(ctx context.Context) error {
	_, err := r.db.set(ctx, durable, "SELECT pg_logical_emit_message(true, 'ohgw', '')")
	return err
}

// Running is the fence between a message and its run: the run is still the caller's.
func (r *Replica) Running(ctx context.Context, t Ticket) error {
	if !fences {
		return nil
	}
	if err := r.live(ctx); err != nil {
		return err
	}
	rows, err := r.db.set(ctx, lazy, "UPDATE runs SET phase = 2 WHERE id = $1 AND epoch = $2 AND phase IN (1, 2) RETURNING id", t.Run, t.Epoch)
	if err == nil && len(rows) == 0 {
		err = ledger.ErrFenced
	}
	return err
}

// Started looks, once the run was started, whether it is the caller's still. A gateway
// that was frozen after Running may have started what another one has brought to its
// end meanwhile, and then nobody looks after the run: Started stops that with
// interrupt, once the other has ended it, and before a next run of the conversation
// begins. It is ErrStopped where somebody has stopped the run meanwhile.
func (r *Replica) Started(ctx context.Context, t Ticket, interrupt func(context.Context) error) error {
	rows, err := r.db.query(ctx, "SELECT conv, epoch = $2 AND phase < 3, stop <> '' FROM runs WHERE id = $1", t.Run, t.Epoch)
	switch {
	case err != nil || len(rows) == 0: // or a crash of the database took it along: nobody else knows of the run
		return err
	case rows[0].isTrue(1) && rows[0].isTrue(2):
		return ledger.ErrStopped
	case rows[0].isTrue(1):
		return nil
	}
	ch, stop := r.watch(t.Run)
	defer stop()
	for {
		settled := false
		err := r.db.within(ctx, lazy, func(tx *conn) error {
			if _, err := tx.query(ctx, "SELECT FROM conversations WHERE id = $1 FOR UPDATE", rows[0].text(0)); err != nil {
				return err
			}
			now, err := tx.query(ctx, `SELECT EXISTS (SELECT FROM runs WHERE id = $1 AND phase < 3), EXISTS (SELECT FROM runs WHERE conv = $2 AND id <> $1 AND phase IN (1, 2))`, t.Run, rows[0].text(0))
			if err != nil {
				return err
			}
			if settled = !now[0].isTrue(0); settled && !now[0].isTrue(1) {
				return interrupt(ctx)
			}
			return nil
		})
		if err != nil {
			return errors.Join(ledger.ErrFenced, err)
		}
		if settled {
			return ledger.ErrFenced
		}
		if err := pause(ctx, ch); err != nil {
			return errors.Join(ledger.ErrFenced, err)
		}
	}
}
