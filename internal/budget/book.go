package budget

import (
	"context"
	"fmt"
	"time"
)

// Book is what tokens have spent at all gateways that answer as one.
type Book interface {
	// Spent is what a token has spent, period by period, with what its runs that go on
	// have taken so far.
	Spent(ctx context.Context, token string) (map[string]Amount, error)
	// Add counts what was spent without a run: runs are counted by who knows their end.
	Add(ctx context.Context, token string, spent Amount) error
}

const (
	// bookAge is how long an account believes what it has read in a book, and bookTime
	// bounds the reading.
	bookAge  = time.Second
	bookTime = 3 * time.Second
)

// NewShared keeps what is spent in a book. Runs are counted there without the accounts:
// [Account.CountsRuns] is false.
func NewShared(book Book, now func() time.Time) *Ledger {
	return &Ledger{book: book, now: now, accounts: make(map[string]*Account)}
}

// CountsRuns reports whether the account is to be told what runs take.
func (a *Account) CountsRuns() bool { return a.book == nil }

// Refresh reads what was spent in the book, if there is one.
func (a *Account) Refresh() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.readBook(0)
}

// readBook reads what is older than an age. The caller holds a.mu.
func (a *Account) readBook(age time.Duration) error {
	if a.book == nil || age > 0 && !a.looked.IsZero() && a.now().Sub(a.looked) < age {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), bookTime)
	defer cancel()
	began := a.now()
	spent, err := a.book.Spent(ctx, a.token)
	if err != nil {
		return fmt.Errorf("read what a token has spent: %w", err)
	}
	a.looked = began
	for p, s := range spent {
		from, _ := begin(p, began)
		a.state.Windows[p] = window{From: from.Unix(), Cost: s.Cost, Tokens: s.Tokens}
	}
	return nil
}

// addToBook counts what was spent without a run. The caller holds a.mu.
func (a *Account) addToBook(spent Amount) error {
	ctx, cancel := context.WithTimeout(context.Background(), bookTime)
	defer cancel()
	if err := a.book.Add(ctx, a.token, spent); err != nil {
		return fmt.Errorf("keep what a token has spent: %w", err)
	}
	return a.readBook(0)
}
