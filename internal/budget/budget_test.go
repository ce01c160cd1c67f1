package budget_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/budget"
)

func TestLimitsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"5/day": "5/day", "$0.50/hour": "0.5/hour", "20": "20", "100/month": "100/month", "3/week": "3/week"} {
		if r, err := budget.ParseCostRule(text); err != nil || r.String() != want || r.Tokens != 0 {
			t.Errorf("%q is %q, %v; want %q", text, r, err, want)
		}
	}
	for text, want := range map[string]string{"1M/day": "1000000/day", "200k": "200000", "7/hour": "7/hour", "5m/week": "5000000/week"} {
		if r, err := budget.ParseTokensRule(text); err != nil || r.String() != want || r.Cost != 0 {
			t.Errorf("%q is %q, %v; want %q", text, r, err, want)
		}
	}
	huge := strings.Repeat("9", 1<<20)
	for text, want := range map[string]error{
		"": budget.ErrCost, "-1": budget.ErrCost, "0": budget.ErrCost, "0/day": budget.ErrCost, "NaN": budget.ErrCost, "NaN/day": budget.ErrCost, "1e999": budget.ErrCost,
		"+5": budget.ErrCost, " 5": budget.ErrCost, "five": budget.ErrCost, huge: budget.ErrCost, "1/2/day": budget.ErrPeriod,
		"5/fortnight": budget.ErrPeriod, "5/": budget.ErrPeriod, "5/Day": budget.ErrPeriod, "5/" + huge: budget.ErrPeriod,
	} {
		if _, err := budget.ParseCostRule(text); !errors.Is(err, want) {
			t.Errorf("%.20q as dollars: %v, want %v", text, err, want)
		}
	}
	for text, want := range map[string]error{
		"": budget.ErrTokens, "-1": budget.ErrTokens, "0k": budget.ErrTokens, "1.5M": budget.ErrTokens, "M": budget.ErrTokens, "1kk": budget.ErrTokens, "$5": budget.ErrTokens,
		"1e6": budget.ErrTokens, huge: budget.ErrTokens, "1M/fortnight": budget.ErrPeriod,
	} {
		if _, err := budget.ParseTokensRule(text); !errors.Is(err, want) {
			t.Errorf("%.20q as tokens: %v, want %v", text, err, want)
		}
	}
}

func TestPeriodsAreThoseOfTheCalendar(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("elsewhere", 5*3600)
	for _, tt := range []struct {
		period budget.Period
		at     time.Time
		want   time.Time
	}{
		{budget.Hour, time.Date(2026, 3, 1, 7, 59, 59, 0, time.UTC), time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)},
		{budget.Day, time.Date(2026, 3, 1, 3, 0, 0, 0, zone), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)},
		{budget.Week, time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 7, 0, 0, 0, 0, time.UTC)}, // a Monday
		{budget.Week, time.Date(2026, 11, 29, 23, 0, 0, 0, time.UTC), time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)},
		{budget.Month, time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)},
		{budget.Total, time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC), time.Time{}},
	} {
		if got := (budget.Rule{Period: tt.period}).Renews(tt.at); !got.Equal(tt.want) {
			t.Errorf("the %s of %v renews at %v, want %v", tt.period, tt.at, got, tt.want)
		}
	}
}

// books is a ledger in a directory, with a clock.
type books struct {
	t   *testing.T
	dir string
	now time.Time
}

func newBooks(t *testing.T) *books {
	t.Helper()
	return &books{t, t.TempDir(), time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)}
}

// open is the account as another process finds it.
func (b *books) open() *budget.Account {
	b.t.Helper()
	a, err := budget.NewLedger(b.dir, func() time.Time { return b.now }).Account("guest")
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// wants checks what was spent in a period, as another process reads it.
func (b *books) wants(p budget.Period, cost float64, tokens int64) {
	b.t.Helper()
	spent, err := budget.NewLedger(b.dir, func() time.Time { return b.now }).Spent("guest")
	if err != nil || spent[p] != (budget.Amount{Cost: cost, Tokens: tokens}) {
		b.t.Errorf("spent in a %s: %+v, %v; want %g and %d", p, spent[p], err, cost, tokens)
	}
}

func (b *books) must(errs ...error) {
	b.t.Helper()
	if err := errors.Join(errs...); err != nil {
		b.t.Fatal(err)
	}
}

func TestARunPaysOnceForEachStep(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.wants(budget.Day, 0, 0)
	a := b.open()
	b.must(a.Begin("run", budget.Amount{Cost: 10, Tokens: 1000}))
	for _, total := range []float64{1, 1, 2, 1.5, 2} { // of the backend, and of its events
		b.must(a.Pay("run", budget.Amount{Cost: total, Tokens: int64(100 * total)}))
	}
	b.wants(budget.Day, 2, 200)
	a = b.open() // the process was killed: the run goes on where it was
	b.must(a.Pay("run", budget.Amount{Cost: 3, Tokens: 300}), a.End("run"))
	b.wants(budget.Total, 3, 300)
	b.must(a.Begin("run", budget.Amount{Cost: 13, Tokens: 1300}), a.Pay("run", budget.Amount{Cost: 1}), a.End("run"), a.Add(budget.Amount{Tokens: 7}))
	b.wants(budget.Hour, 4, 307)
	if n := len(b.open().Runs()); n != 0 {
		t.Errorf("%d runs go on, want none", n)
	}
}

// What a run took while no gateway saw it is paid when the next run begins there.
func TestTheNextRunPaysWhatWasNotSeen(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	a := b.open()
	b.must(a.Begin("run", budget.Amount{Cost: 10}), a.Pay("run", budget.Amount{Cost: 1}))
	a = b.open()
	b.must(a.Begin("run", budget.Amount{Cost: 15}))
	b.wants(budget.Day, 5, 0)
	b.must(a.Pay("run", budget.Amount{Cost: 1}))
	b.wants(budget.Day, 6, 0)
}

func TestSpendingEndsWithItsPeriod(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	a := b.open()
	b.must(a.Add(budget.Amount{Cost: 6}))
	rules := []budget.Rule{{Amount: budget.Amount{Cost: 5}, Period: budget.Day}, {Amount: budget.Amount{Cost: 6}, Period: budget.Week}, {Amount: budget.Amount{Cost: 100}}}
	used, over := a.UsedUp(rules)
	if want := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC); !over || !used.Renews.Equal(want) {
		t.Errorf("used up: %+v, %t; want until %v, which is the longest", used, over, want)
	}
	b.now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	if used, over := a.UsedUp(rules); over {
		t.Errorf("used up in the next week: %+v", used)
	}
	b.wants(budget.Month, 0, 0)
	b.wants(budget.Total, 6, 0)
}

// A clock that was wrong for a while neither gives a budget back nor blocks it for ever.
func TestAClockThatWasSetBackLosesNothing(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	right := b.now
	b.now = right.AddDate(4, 0, 0)
	a := b.open()
	b.must(a.Add(budget.Amount{Cost: 6}))
	b.now = right
	b.wants(budget.Day, 6, 0)
	b.must(a.Add(budget.Amount{Cost: 1}))
	b.wants(budget.Day, 7, 0)
	b.now = right.AddDate(0, 0, 1)
	b.wants(budget.Day, 0, 0)
}

func TestARecordThatWasCutOffLosesOneStep(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	a := b.open()
	b.must(a.Add(budget.Amount{Cost: 1}), a.Add(budget.Amount{Cost: 1}))
	path := filepath.Join(b.dir, "spending", "guest")
	data, err := os.ReadFile(path)
	b.must(err, os.WriteFile(path, data[:len(data)-5], 0o600))
	b.wants(budget.Day, 1, 0)
	a = b.open()
	b.must(a.Add(budget.Amount{Cost: 1}))
	b.wants(budget.Day, 2, 0)
}

func TestADamagedRecordAllowsNothing(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.must(b.open().Add(budget.Amount{Cost: 1}))
	for _, text := range []string{"", "{no json\n", `{"version":2}` + "\n", `{"version":1,"spent":null}` + "\n", "null\n"} {
		b.must(os.WriteFile(filepath.Join(b.dir, "spending", "guest"), []byte(text), 0o600))
		if _, err := budget.NewLedger(b.dir, time.Now).Account("guest"); err == nil {
			t.Errorf("a record with %q was opened", text)
		}
	}
}

func TestARecordDoesNotGrowForEver(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	a := b.open()
	for range 2500 {
		b.must(a.Begin("run", budget.Amount{}), a.Pay("run", budget.Amount{Tokens: 3}), a.End("run"))
	}
	b.wants(budget.Total, 0, 7500)
	info, err := os.Stat(filepath.Join(b.dir, "spending", "guest"))
	if err != nil || info.Size() > 128<<10 || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the record: %v, %v; want at most 128 KiB, for its owner", info, err)
	}
	b.must(budget.NewLedger(b.dir, time.Now).Forget("guest"))
	b.wants(budget.Total, 0, 0)
}

// A record that was removed is written again, and its gateway forgets nothing.
func TestAnAccountOutlivesItsRecord(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	a := b.open()
	b.must(a.Add(budget.Amount{Cost: 1}), os.RemoveAll(filepath.Join(b.dir, "spending")), a.Add(budget.Amount{Cost: 1}))
	b.wants(budget.Day, 2, 0)
}
