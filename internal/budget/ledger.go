package budget

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/recordfile"
)

// dirName is the directory of a ledger below the state directory.
const dirName = "spending"

// Ledger knows what tokens have spent: a record for each token, which grows by a line with
// each payment. One process at a time may write.
type Ledger struct {
	// Paid is called with each payment, if it is set before the first account is opened. It
	// must not call the ledger.
	Paid func(Amount)

	dir *recordfile.Dir
	now func() time.Time

	mu       sync.Mutex
	accounts map[string]*Account
}

// NewLedger keeps what is spent below a state directory; without one, in memory.
func NewLedger(state string, now func() time.Time) *Ledger {
	return &Ledger{dir: openDir(state), now: now, accounts: make(map[string]*Account)}
}

// Account returns the account of a token, by its id. The error is one of the disk: nothing
// may be spent then, because it could not be kept.
func (l *Ledger) Account(id string) (*Account, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[id]; a != nil {
		return a, a.usable()
	}
	b, err := read(l.dir, id)
	if err == nil {
		err = b.keep(l.dir, id) // the changes of before become one line
	}
	if err != nil {
		return nil, fmt.Errorf("open what a token has spent: %w", err)
	}
	a := &Account{dir: l.dir, id: id, now: l.now, paid: l.Paid, book: b}
	l.accounts[id] = a
	return a, nil
}

// Each calls f with the ids of the tokens that have spent something.
func (l *Ledger) Each(f func(id string) error) error { return eachRecord(l.dir, f) }

// Spent reads what a token has spent in each period. It writes nothing, and may be called
// while another process writes.
func (l *Ledger) Spent(id string) (map[Period]Amount, error) {
	b, err := read(l.dir, id)
	if err != nil {
		return nil, fmt.Errorf("read what a token has spent: %w", err)
	}
	spent := make(map[Period]Amount)
	for _, p := range Periods() {
		spent[p] = b.at(p, l.now()).amount()
	}
	return spent, nil
}

// Forget removes what a token has spent, once it is revoked.
func (l *Ledger) Forget(id string) error { return l.dir.Remove(id) }

// Account is what one token has spent. Its methods may be called at the same time.
type Account struct {
	dir  *recordfile.Dir
	id   string
	now  func() time.Time
	paid func(Amount) // may be nil

	mu    sync.Mutex
	book  book
	lines int   // since the record was written whole
	lost  error // why the last change is in memory only
}

// maxLines is how many changes are appended before a record is written whole.
const maxLines = 1000

// Begin notes that the run of a conversation begins, which has used so much before. If an
// earlier run there was never seen to end, what it has used until now is paid first.
func (a *Account) Begin(run string, before Amount) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var unpaid Amount
	if old, ok := a.book.Runs[run]; ok {
		unpaid = above(before.Minus(old.Before), old.Paid)
	}
	return a.change(change{At: a.now().Unix(), Run: run, Begins: &before, Cost: unpaid.Cost, Tokens: unpaid.Tokens})
}

// Pay counts what a run has taken so far, which has begun or not: only what is not paid yet.
func (a *Account) Pay(run string, total Amount) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	more := above(total, a.book.Runs[run].Paid)
	if more == (Amount{}) {
		return a.lost
	}
	return a.change(change{At: a.now().Unix(), Run: run, Cost: more.Cost, Tokens: more.Tokens})
}

// Add counts what was taken without a run.
func (a *Account) Add(spent Amount) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if spent == (Amount{}) {
		return nil
	}
	return a.change(change{At: a.now().Unix(), Cost: spent.Cost, Tokens: spent.Tokens})
}

// End notes that a run has ended, and all of it is paid.
func (a *Account) End(run string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.book.Runs[run]; !ok {
		return nil
	}
	return a.change(change{At: a.now().Unix(), Run: run, Ends: true})
}

// Runs returns the runs that were not seen to end.
func (a *Account) Runs() map[string]Open {
	a.mu.Lock()
	defer a.mu.Unlock()
	runs := make(map[string]Open, len(a.book.Runs))
	for id, r := range a.book.Runs {
		runs[id] = r
	}
	return runs
}

// usable tries to keep what is in memory only, and returns why it cannot.
func (a *Account) usable() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost == nil {
		return nil
	}
	return a.whole()
}

// change makes a change, in memory also where the disk fails. The caller holds a.mu.
func (a *Account) change(c change) error {
	a.book.apply(c)
	if more := (Amount{c.Cost, c.Tokens}); a.paid != nil && more != (Amount{}) {
		a.paid(more)
	}
	if a.lines++; a.lines > maxLines || a.lost != nil {
		return a.whole()
	}
	err := a.dir.Append(a.id, c.encode())
	if errors.Is(err, fs.ErrNotExist) { // its token was revoked, or a person has removed it
		return a.whole()
	}
	return a.failed(err)
}

// whole writes the record whole. The caller holds a.mu.
func (a *Account) whole() error {
	err := a.failed(a.book.keep(a.dir, a.id))
	if err == nil {
		a.lines = 0
	}
	return err
}

func (a *Account) failed(err error) error {
	a.lost = err
	if err != nil {
		return fmt.Errorf("keep what a token has spent: %w", err)
	}
	return nil
}

// Used is a limit that is used up.
type Used struct {
	Rule

	By     Amount
	Renews time.Time // zero: never
}

// UsedUp finds the limit that is used up for the longest time.
func (a *Account) UsedUp(rules []Rule) (longest Used, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	for _, r := range rules {
		spent := a.book.at(r.Period, now).amount()
		if !r.reached(spent) {
			continue
		}
		next := r.Renews(now)
		if !ok || next.IsZero() || !longest.Renews.IsZero() && next.After(longest.Renews) {
			longest, ok = Used{r, spent, next}, true
		}
	}
	return longest, ok
}
