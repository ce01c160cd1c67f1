// Package budgettest is the contract of ledgers of what tokens spend as tests: those in
// files and in a database pass it alike.
package budgettest

import (
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Run checks pairs of ledgers over the same accounts, which may be one ledger. pass lets
// so much time go by that what one has counted is known to the other.
func Run(t *testing.T, open func(*testing.T) (a, b *budget.Ledger, pass func())) {
	t.Helper()
	for name, check := range map[string]func(t *testing.T, a, b *budget.Ledger, pass func()){
		"WhatIsSpentAtOneIsKnownAtTheOther": known,
		"NothingIsLostAtTheSameTime":        together,
		"ABudgetIsUsedUpEverywhere":         usedUp,
		"TokensDoNotSpendForEachOther":      apart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, pass := open(t)
			check(t, a, b, pass)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func account(t *testing.T, l *budget.Ledger, id string) *budget.Account {
	t.Helper()
	a, err := l.Account(id)
	must(t, err)
	return a
}

func known(t *testing.T, a, b *budget.Ledger, pass func()) {
	id := uuid.New()
	must(t, account(t, a, id).Add(budget.Amount{Cost: 1.5, Tokens: 10}))
	must(t, account(t, b, id).Add(budget.Amount{Cost: 0.5, Tokens: 5}))
	pass()
	for _, l := range []*budget.Ledger{a, b} {
		spent, err := l.Spent(id)
		must(t, err)
		for _, p := range budget.Periods() {
			if spent[p] != (budget.Amount{Cost: 2, Tokens: 15}) {
				t.Errorf("spent %+v of %q", spent[p], p)
			}
		}
		if left := account(t, l, id).Left([]budget.Rule{{Amount: budget.Amount{Cost: 5}, Period: budget.Day}}); left != (budget.Amount{Cost: 3}) {
			t.Errorf("left is %+v", left)
		}
	}
}

func together(t *testing.T, a, b *budget.Ledger, _ func()) {
	id := uuid.New()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			acc, err := []*budget.Ledger{a, b}[i%2].Account(id)
			if err == nil {
				err = acc.Add(budget.Amount{Tokens: 1})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if spent, err := b.Spent(id); err != nil || spent[budget.Total].Tokens != 20 {
		t.Errorf("%+v, %v", spent, err)
	}
}

func usedUp(t *testing.T, a, b *budget.Ledger, pass func()) {
	id := uuid.New()
	rules := []budget.Rule{{Amount: budget.Amount{Tokens: 100}, Period: budget.Hour}, {Amount: budget.Amount{Cost: 1}, Period: budget.Month}}
	other := account(t, b, id)
	if _, over := other.UsedUp(rules); over {
		t.Error("used up before anything was spent")
	}
	must(t, account(t, a, id).Add(budget.Amount{Tokens: 100, Cost: 0.5}))
	pass()
	used, over := other.UsedUp(rules)
	if !over || used.Period != budget.Hour || used.Spent.Tokens != 100 || time.Until(used.Renews) > time.Hour {
		t.Errorf("%+v, %v", used, over)
	}
	must(t, other.Add(budget.Amount{Cost: 0.5}))
	pass()
	if used, over = account(t, a, id).UsedUp(rules); !over || used.Period != budget.Month {
		t.Errorf("%+v, %v", used, over)
	}
}

func apart(t *testing.T, a, b *budget.Ledger, _ func()) {
	one, two := uuid.New(), uuid.New()
	must(t, account(t, a, one).Add(budget.Amount{Tokens: 1}))
	if spent, err := b.Spent(two); err != nil || spent[budget.Total] != (budget.Amount{}) {
		t.Errorf("%+v, %v", spent, err)
	}
}
