package pg_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/budget/budgettest"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestSpendingKeepsTheContractOfFiles(t *testing.T) {
	t.Parallel()
	db := database(t)
	budgettest.Run(t, func(t *testing.T) (a, b *budget.Ledger, pass func()) {
		t.Helper()
		var ahead atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		return budget.NewShared(db.Book(), now), budget.NewShared(db.Book(), now), func() { ahead.Add(int64(1100 * time.Millisecond)) }
	})
}

// TestARunIsCountedOnce: while it goes on, and when it is over, at whatever gateway.
func TestARunIsCountedOnce(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 8), join(t, db, 8)
	wants := func(what string, want budget.Amount) {
		t.Helper()
		spent, err := db.Book().Spent(t.Context(), "t")
		must(t, err)
		for _, p := range budget.Periods() {
			if spent[p] != want {
				t.Errorf("%s: spent %+v of %q, want %+v", what, spent[p], p, want)
			}
		}
	}
	wants("at first", budget.Amount{})
	first, second := claimed(t, a, uuid.New()), claimed(t, b, uuid.New())
	must(t, a.Spends(t.Context(), first.Ticket, turn.Usage{PromptTokens: 30, CompletionTokens: 10, Cost: 0.5}))
	must(t, b.Spends(t.Context(), second.Ticket, turn.Usage{PromptTokens: 5, Cost: 0.25}))
	wants("while both go on", budget.Amount{Cost: 0.75, Tokens: 45})
	must(t, a.Spends(t.Context(), first.Ticket, turn.Usage{PromptTokens: 20})) // it came late
	must(t, a.End(t.Context(), first.Ticket, ledger.Ending{Usage: turn.Usage{PromptTokens: 40, CompletionTokens: 10, Cost: 1}}))
	wants("when one is over", budget.Amount{Cost: 1.25, Tokens: 55})
	must(t, a.Spends(t.Context(), first.Ticket, turn.Usage{PromptTokens: 1000}), b.Drop(t.Context(), second.Ticket))
	wants("when the other began nothing", budget.Amount{Cost: 1, Tokens: 50})
	_, err := db.Query(t.Context(), "UPDATE usage SET day = '2020-01-01'; ")
	must(t, err)
	_, err = db.Query(t.Context(), "UPDATE usage_hours SET hour = '2020-01-01'")
	must(t, err)
	spent, err := db.Book().Spent(t.Context(), "t")
	if must(t, err); spent[budget.Total].Tokens != 50 || spent[budget.Month].Tokens != 0 || spent[budget.Hour].Tokens != 0 {
		t.Errorf("years later: %+v", spent)
	}
}
