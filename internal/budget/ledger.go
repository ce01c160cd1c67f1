package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Dir is the directory of a ledger below the state directory.
const Dir = "spending"

// Ledger knows what tokens have spent. Its methods may be called at the same time; one
// process at a time may write.
type Ledger struct {
	dir  string
	book Book // in place of a directory
	now  func() time.Time

	mu       sync.Mutex
	accounts map[string]*Account
}

// NewLedger keeps what is spent in a directory, which is made when needed; without a
// name, in memory.
func NewLedger(dir string, now func() time.Time) *Ledger {
	return &Ledger{dir: dir, now: now, accounts: make(map[string]*Account)}
}

// Account is what one token has spent. Its methods may be called at the same time.
type Account struct {
	path  string
	book  Book   // in place of a file; nil: there is none
	token string // in the book
	now   func() time.Time

	mu     sync.Mutex
	state  state
	looked time.Time // when the book was read
}

// window is what was spent since a period began.
type window struct {
	From   int64   `json:"f"` // Unix time
	Cost   float64 `json:"c"`
	Tokens int64   `json:"t"`
}

// state is the content of a file.
type state struct {
	Sequence uint64            `json:"n"`
	Windows  map[string]window `json:"w"`
}

// A file has two slots, written in turns: one is always whole.
const slot = 2048

// Account opens the account of a token, whose id is part of a file's name. An error is
// one of the disk: what is spent could not be kept.
func (l *Ledger) Account(id string) (*Account, error) {
	if l.book != nil {
		return l.inBook(id)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[id]; a != nil {
		return a, nil
	}
	a := l.account(id)
	if a.path == "" {
		l.accounts[id] = a
		return a, nil
	}
	err := a.read()
	if errors.Is(err, fs.ErrNotExist) {
		err = a.create()
	}
	if err != nil {
		return nil, fmt.Errorf("open what a token has spent: %w", err)
	}
	l.accounts[id] = a
	return a, nil
}

// inBook is an account whose state is not old.
func (l *Ledger) inBook(id string) (*Account, error) {
	l.mu.Lock()
	a := l.accounts[id]
	if a == nil {
		a = l.account(id)
		a.book, a.token = l.book, id
		l.accounts[id] = a
	}
	l.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.readBook(bookAge); err != nil {
		return nil, err
	}
	return a, nil
}

func (l *Ledger) account(id string) *Account {
	a := &Account{now: l.now, state: state{Windows: make(map[string]window)}}
	if l.dir != "" {
		a.path = filepath.Join(l.dir, id)
	}
	return a
}

// Spent is what a token has spent, period by period. It writes nothing.
func (l *Ledger) Spent(id string) (map[string]Amount, error) {
	if l.book != nil {
		ctx, cancel := context.WithTimeout(context.Background(), bookTime)
		defer cancel()
		return l.book.Spent(ctx, id) //nolint:wrapcheck // it says what it was
	}
	a := l.account(id)
	if err := a.read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what a token has spent: %w", err)
	}
	spent := make(map[string]Amount)
	for _, p := range Periods() {
		w := a.window(p)
		spent[p] = Amount{Cost: w.Cost, Tokens: w.Tokens}
	}
	return spent, nil
}

// create makes the file with its whole size.
func (a *Account) create() error {
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(a.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.WriteString(strings.Repeat(" ", 2*slot)); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(a.path))
	}
	return nil
}

// read takes the newer slot that is whole. A file without one counts from zero: only a
// crash in its first moment leaves that.
func (a *Account) read() error {
	data, err := os.ReadFile(a.path)
	if err != nil {
		return err //nolint:wrapcheck // the callers do
	}
	for from := 0; from+slot <= len(data); from += slot {
		sum, text, ok := strings.Cut(strings.TrimSpace(string(data[from:from+slot])), " ")
		var s state
		if !ok || sum != sumOf(text) || json.Unmarshal([]byte(text), &s) != nil || s.Sequence < a.state.Sequence || s.Windows == nil {
			continue
		}
		a.state = s
	}
	return nil
}

func sumOf(text string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) }

// write writes the next slot, in place.
func (a *Account) write() error {
	if a.path == "" {
		return nil
	}
	a.state.Sequence++
	text, err := json.Marshal(a.state)
	if err != nil {
		return err
	}
	line := sumOf(string(text)) + " " + string(text)
	if len(line) >= slot {
		return errors.New("what is spent does not fit into its file")
	}
	file, err := os.OpenFile(a.path, os.O_WRONLY, 0)
	if err != nil {
		return err //nolint:wrapcheck // Add does
	}
	line += strings.Repeat(" ", slot-1-len(line)) + "\n"
	if _, err = file.WriteAt([]byte(line), int64(a.state.Sequence%2)*slot); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// window is what was spent in the period of now.
func (a *Account) window(period string) window {
	w := a.state.Windows[period]
	from, _ := begin(period, a.now())
	if period != Total && w.From != from.Unix() {
		return window{From: from.Unix()}
	}
	return w
}

// Add counts what was spent, in memory also where the disk fails.
func (a *Account) Add(spent Amount) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.book != nil {
		return a.addToBook(spent)
	}
	for _, p := range Periods() {
		w := a.window(p)
		w.Cost, w.Tokens = w.Cost+spent.Cost, w.Tokens+spent.Tokens
		a.state.Windows[p] = w
	}
	if err := a.write(); err != nil {
		return fmt.Errorf("keep what a token has spent: %w", err)
	}
	return nil
}

// Used is a rule that is used up.
type Used struct {
	Rule

	Spent  Amount
	Renews time.Time // zero: never
}

// UsedUp is the rule that is used up for the longest time.
func (a *Account) UsedUp(rules []Rule) (longest Used, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.readBook(bookAge) // else what was read last counts: who opens an account is told
	for _, r := range rules {
		w := a.window(r.Period)
		if (r.Cost == 0 || w.Cost < r.Cost) && (r.Tokens == 0 || w.Tokens < r.Tokens) {
			continue
		}
		_, next := begin(r.Period, a.now())
		if !ok || next.IsZero() || !longest.Renews.IsZero() && next.After(longest.Renews) {
			longest, ok = Used{r, Amount{w.Cost, w.Tokens}, next}, true
		}
	}
	return longest, ok
}

// Left is what can still be spent under all rules.
func (a *Account) Left(rules []Rule) (left Amount) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.readBook(bookAge) // as in UsedUp
	for _, r := range rules {
		w := a.window(r.Period)
		if r.Cost > 0 && (left.Cost == 0 || r.Cost-w.Cost < left.Cost) {
			left.Cost = r.Cost - w.Cost
		}
		if r.Tokens > 0 && (left.Tokens == 0 || r.Tokens-w.Tokens < left.Tokens) {
			left.Tokens = r.Tokens - w.Tokens
		}
	}
	return left
}
