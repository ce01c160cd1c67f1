package budget_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/budget/budgettest"
)

func TestRulesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"5/day": "5/day", "$0.50/Hour": "0.5/hour", " 100/month ": "100/month", "200000tokens/day": "200000tokens/day",
		"200ktokens/week": "200000tokens/week", "1.5M tokens": "1500000tokens", "20": "20",
	} {
		r, err := budget.ParseRule(text)
		if err != nil || r.String() != want {
			t.Errorf("%q is %q, %v, want %q", text, r, err, want)
		}
	}
	for text, want := range map[string]error{
		"": budget.ErrAmount, "0/day": budget.ErrAmount, "-1/day": budget.ErrAmount, "five/day": budget.ErrAmount, "NaN/day": budget.ErrAmount,
		"1.5tokens/day": budget.ErrAmount, "5/year": budget.ErrPeriod, "5/": budget.ErrPeriod, "1e300/day": budget.ErrAmount,
	} {
		if _, err := budget.ParseRule(text); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	if a, err := budget.ParseAmount("0.5, 2ktokens"); err != nil || a != (budget.Amount{Cost: 0.5, Tokens: 2000}) {
		t.Errorf("%v, %v", a, err)
	}
	if _, err := budget.ParseAmount("1,2"); err == nil {
		t.Error("two amounts of dollars are one")
	}
}

func TestSpendingIsCountedByPeriodsAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC) // a Monday
	clock := func() time.Time { return now }
	rules := []budget.Rule{{Amount: budget.Amount{Cost: 5}, Period: budget.Day}, {Amount: budget.Amount{Tokens: 1000}, Period: budget.Week}}
	open := func() *budget.Account {
		a, err := budget.NewLedger(dir, clock).Account("id")
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := open()
	if err := errors.Join(a.Add(budget.Amount{Cost: 3, Tokens: 10}), a.Add(budget.Amount{Cost: 2.5, Tokens: 10})); err != nil {
		t.Fatal(err)
	}
	a = open()
	used, over := a.UsedUp(rules)
	if !over || used.Spent.Cost != 5.5 || used.Renews != time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) {
		t.Errorf("%+v, %v", used, over)
	}
	now = now.Add(2 * time.Minute)
	if _, over := a.UsedUp(rules); over {
		t.Error("the day is not renewed")
	}
	if left := a.Left(rules); left != (budget.Amount{Cost: 5, Tokens: 980}) {
		t.Errorf("%+v is left", left)
	}
	if err := a.Add(budget.Amount{Tokens: 980}); err != nil {
		t.Fatal(err)
	}
	if used, over := a.UsedUp(rules); !over || used.Period != budget.Week || used.Renews.Day() != 7 {
		t.Errorf("%+v, %v", used, over)
	}
	if spent, err := budget.NewLedger(dir, clock).Spent("id"); err != nil || spent[budget.Total] != (budget.Amount{Cost: 5.5, Tokens: 1000}) || spent[budget.Day].Cost != 0 {
		t.Errorf("%+v, %v", spent, err)
	}
}

// TestAHalfWrittenSlotCostsOneEntryAtMost damages each slot in turn.
func TestAHalfWrittenSlotCostsOneEntryAtMost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := budget.NewLedger(dir, time.Now).Account("id")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := a.Add(budget.Amount{Tokens: 1}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "id")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int]int64{20: 3, len(data)/2 + 20: 2} {
		torn := append([]byte(nil), data...)
		torn[at] ^= 1
		if err := os.WriteFile(file, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		if spent, err := budget.NewLedger(dir, time.Now).Spent("id"); err != nil || spent[budget.Total].Tokens != want {
			t.Errorf("%+v, %v, want %d", spent, err, want)
		}
	}
}

func TestFilesKeepTheContract(t *testing.T) {
	t.Parallel()
	budgettest.Run(t, func(t *testing.T) (a, b *budget.Ledger, pass func()) {
		t.Helper()
		l := budget.NewLedger(t.TempDir(), time.Now)
		return l, l, func() {}
	})
}
