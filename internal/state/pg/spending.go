package pg

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/budget"
)

// Spent is what a token has used on a day of UTC.
type Spent struct {
	Runs, Tokens int64
	Cost         float64
}

// Usage is what a token has used today.
func (r *Replica) Usage(ctx context.Context, token string) (s Spent, err error) {
	rows, err := r.db.query(ctx, "SELECT runs, units, cost FROM usage WHERE token = $1 AND day = (now() AT TIME ZONE 'UTC')::date", token)
	if err != nil || len(rows) == 0 {
		return Spent{}, err
	}
	return Spent{Runs: rows[0].number(0), Tokens: rows[0].number(1), Cost: rows[0].float(2)}, nil
}

// Spends notes what a run that goes on has taken so far. Its End counts that for good.
func (r *Replica) Spends(ctx context.Context, t Ticket, u turn.Usage) error {
	_, err := r.db.set(ctx, lazy, "UPDATE runs SET units = greatest(units, $3), cost = greatest(cost, $4) WHERE id = $1 AND epoch = $2 AND phase < 3",
		t.Run, t.Epoch, u.PromptTokens+u.CompletionTokens, u.Cost)
	return err
}

// Book is what tokens have spent at all gateways; see [budget.Book].
type Book struct{ db *DB }

// Book gives what tokens have spent.
func (db *DB) Book() *Book { return &Book{db} }

// spentSQL are the sums of what a token has spent: of this hour, and by days of UTC. Runs
// that go on are in all of them.
const spentSQL = `WITH t AS (SELECT now() AT TIME ZONE 'UTC' AS n),
	live AS (SELECT coalesce(sum(units), 0) AS u, coalesce(sum(cost), 0) AS c FROM runs WHERE token = $1 AND phase < 3),
	h AS (SELECT coalesce(sum(units), 0) AS u, coalesce(sum(cost), 0) AS c FROM usage_hours WHERE token = $1 AND hour = date_trunc('hour', now())),
	d AS (SELECT coalesce(sum(units) FILTER (WHERE day = n::date), 0) AS du, coalesce(sum(cost) FILTER (WHERE day = n::date), 0) AS dc,
		coalesce(sum(units) FILTER (WHERE day >= date_trunc('week', n)::date), 0) AS wu, coalesce(sum(cost) FILTER (WHERE day >= date_trunc('week', n)::date), 0) AS wc,
		coalesce(sum(units) FILTER (WHERE day >= date_trunc('month', n)::date), 0) AS mu, coalesce(sum(cost) FILTER (WHERE day >= date_trunc('month', n)::date), 0) AS mc,
		coalesce(sum(units), 0) AS tu, coalesce(sum(cost), 0) AS tc
		FROM t LEFT JOIN usage ON token = $1)
	SELECT h.u + live.u, h.c + live.c, du + live.u, dc + live.c, wu + live.u, wc + live.c, mu + live.u, mc + live.c, tu + live.u, tc + live.c FROM live, h, d`

// Spent is what a token has spent, period by period.
func (b *Book) Spent(ctx context.Context, token string) (map[string]budget.Amount, error) {
	rows, err := b.db.query(ctx, spentSQL, token)
	if err != nil {
		return nil, err
	}
	spent := make(map[string]budget.Amount)
	for i, p := range budget.Periods() {
		spent[p] = budget.Amount{Tokens: rows[0].number(2 * i), Cost: rows[0].float(2*i + 1)}
	}
	return spent, nil
}

// Add counts what a token has spent without a run.
func (b *Book) Add(ctx context.Context, token string, spent budget.Amount) error {
	_, err := b.db.set(ctx, lazy, `WITH u AS (INSERT INTO usage (token, day, units, cost) VALUES ($1, (now() AT TIME ZONE 'UTC')::date, $2, $3)
			ON CONFLICT (token, day) DO UPDATE SET units = usage.units + excluded.units, cost = usage.cost + excluded.cost)
		INSERT INTO usage_hours (token, hour, units, cost) VALUES ($1, date_trunc('hour', now()), $2, $3)
			ON CONFLICT (token, hour) DO UPDATE SET units = usage_hours.units + excluded.units, cost = usage_hours.cost + excluded.cost`,
		token, spent.Tokens, spent.Cost)
	return err
}
