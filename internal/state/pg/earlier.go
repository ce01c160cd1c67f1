package pg

import (
	"context"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// claim makes a run, unless there is one that answers the request.
func (l *Ledger) claim(ctx context.Context, tx *conn, c ledger.Claim) (ledger.Found, error) {
	at, err := l.earlier(ctx, tx, c)
	if err != nil {
		return ledger.Found{}, err
	}
	if at != nil {
		return l.resolve(ctx, tx, at)
	}
	if err := l.admits(ctx, tx, c); err != nil {
		return ledger.Found{}, err
	}
	// The conversation's row is locked to the end: the order of seq is that of the commits.
	rows, err := tx.query(ctx, `INSERT INTO conversations (id, token, last_seq) VALUES ($1, $2, 1)
		ON CONFLICT (id) DO UPDATE SET last_seq = conversations.last_seq + 1, used_at = now() RETURNING last_seq`, c.Conversation, c.Token)
	if err != nil {
		return ledger.Found{}, err
	}
	seq := rows[0].number(0)
	rows, err = tx.query(ctx, "SELECT count(*) FROM runs WHERE conv = $1 AND phase < 3", c.Conversation)
	if err == nil && rows[0].number(0) > int64(l.r.cfg.MaxLane) {
		err = ledger.ErrLaneFull
	}
	if err != nil {
		return ledger.Found{}, err
	}
	rows, err = tx.query(ctx, `INSERT INTO runs (id, token, key, print, conv, seq, owner, request, revision) VALUES (`+numberSQL+`, $1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (token, key) WHERE key IS NOT NULL DO NOTHING RETURNING id, epoch`,
		c.Token, optional(c.Key), c.Print, c.Conversation, seq, l.r.id, c.Request, c.Revision)
	if err != nil {
		return ledger.Found{}, err
	}
	if len(rows) == 0 {
		return ledger.Found{}, errFaster
	}
	return mine(c, rows[0]), nil
}

// admits refuses a request for which there is no place. A token with less than an equal share of
// the places gets one all the same.
func (l *Ledger) admits(ctx context.Context, tx *conn, c ledger.Claim) error {
	queue := int64(l.r.cfg.MaxQueue)
	// Most of the time few wait. All runs are counted only where that does not decide.
	rows, err := tx.query(ctx, "SELECT count(*) FROM runs WHERE phase = 0 AND slot IS NULL")
	if err != nil || rows[0].number(0) < queue {
		return err
	}
	rows, err = tx.query(ctx, `SELECT count(*), count(*) FILTER (WHERE token = $1), count(DISTINCT token) FILTER (WHERE token <> $1), (SELECT runs FROM limits WHERE one)
		FROM runs WHERE phase < 3`, c.Token)
	if err != nil {
		return err
	}
	all, own, tokens, places := rows[0].number(0), rows[0].number(1), rows[0].number(2)+1, rows[0].number(3)+queue
	if all < places || queue > 0 && own < max(1, places/tokens) {
		return nil
	}
	return ledger.ErrQueueFull
}

// earlier finds the row of the run that answers a request already; nil where a new one is needed.
func (l *Ledger) earlier(ctx context.Context, tx *conn, c ledger.Claim) (row, error) {
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
		{"SELECT " + columnsSQL + pastSQL + " FROM runs r WHERE r.print = $1 AND r.token = $2 AND r.key IS NULL ORDER BY r.id FOR UPDATE", []any{c.Print, c.Token}},
	})
	if err != nil {
		return nil, err
	}
	rows := found[1]
	past := make([]ledger.Past, len(rows))
	for i, p := range rows {
		past[i] = pastIn(p)
	}
	if i := c.Joins(past); i >= 0 {
		return rows[i], nil
	}
	return nil, nil
}
