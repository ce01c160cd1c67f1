package sharing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/rescue"
)

const (
	// CallTime bounds one call of the ledger that no client waits for.
	CallTime = 10 * time.Second
	// again is when a call that has failed is made again.
	again = time.Second
)

// Teller makes calls of a ledger that no client waits for. Make one with NewTeller, and
// end it with Close.
type Teller struct {
	ledger ledger.Ledger
	log    *slog.Logger

	life context.Context
	end  context.CancelFunc

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
}

// NewTeller makes a Teller.
func NewTeller(l ledger.Ledger, log *slog.Logger) *Teller {
	t := &Teller{ledger: l, log: log}
	t.life, t.end = context.WithCancel(context.Background())
	return t
}

// Close ends the calls that go on, and waits for them.
func (t *Teller) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.end()
	t.calls.Wait()
}

// Tell makes a call. Told is false where the run is another gateway's, which is not an
// error.
func (t *Teller) Tell(limit time.Duration, call func(context.Context, ledger.Ledger) error) (told bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return t.tell(ctx, call)
}

func (t *Teller) tell(ctx context.Context, call func(context.Context, ledger.Ledger) error) (told bool, err error) {
	err = rescue.Do(func() error { return call(ctx, t.ledger) })
	if errors.Is(err, ledger.ErrFenced) {
		return false, nil
	}
	return err == nil, err
}

// Insist makes a call again and again until it works, or Close. A run whose end could not
// be noted is taken over by another gateway then.
func (t *Teller) Insist(call func(context.Context, ledger.Ledger) error) {
	t.Beside(func() {
		for Rest(t.life, again) {
			ctx, cancel := context.WithTimeout(t.life, CallTime)
			_, err := t.tell(ctx, call)
			cancel()
			if err == nil {
				return
			}
		}
	})
}

// Mention makes a call that the ledger may miss, and waits for nothing. What names the
// call for the log.
func (t *Teller) Mention(what string, call func(context.Context, ledger.Ledger) error) {
	t.Beside(func() {
		ctx, cancel := context.WithTimeout(t.life, CallTime)
		defer cancel()
		if _, err := t.tell(ctx, call); err != nil {
			t.log.Debug("cannot tell the shared state what has happened", "what", what, "err", err)
		}
	})
}

// Beside calls f in a goroutine of its own, for which Close waits. After Close it does
// nothing.
func (t *Teller) Beside(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.calls.Go(f)
	}
}

// Rest waits, and reports whether ctx goes on.
func Rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
