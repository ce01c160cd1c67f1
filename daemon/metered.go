package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/metrics"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// meteredLedger is a ledger whose questions are counted. Await and Turn wait, and are
// not.
type meteredLedger struct {
	ledger.Ledger

	m   *metrics.Ledger
	now func() time.Time
}

// placesTime bounds the question for a scrape.
const placesTime = 2 * time.Second

// sharedLedger is the ledger of the shared state; nil where there is none.
func (d *Daemon) sharedLedger() ledger.Ledger {
	s := d.cfg.Shared
	if s == nil {
		return nil
	}
	m := d.metrics.Ledger(func() (metrics.Places, bool) {
		ctx, cancel := context.WithTimeout(d.life, placesTime)
		defer cancel()
		p, err := s.Places(ctx)
		return p, err == nil
	})
	return &meteredLedger{s.Ledger, m, d.cfg.Now}
}

// countPool counts the members of a pool, where the backend is one.
func (d *Daemon) countPool() {
	pool, ok := d.cfg.Backend.(agentapi.Pooled)
	if !ok || pool.Members() == nil {
		return
	}
	d.metrics.Pool(func() map[string]int {
		states := map[string]int{"up": 0, "drain": 0, "lost": 0}
		for _, m := range pool.Members() {
			states[m.State]++
		}
		return states
	})
}

// count counts a question that began then.
func (l *meteredLedger) count(op string, began time.Time, err error) {
	l.m.Asked(op, l.now().Sub(began))
	if errors.Is(err, ledger.ErrFenced) {
		l.m.Fenced()
	}
}

// found counts what was found.
func (l *meteredLedger) found(f ledger.Found) {
	if f.Kind == ledger.Taken {
		l.m.TakenOver(1)
	}
}

// Claim implements [ledger.Ledger], as all that follow.
func (l *meteredLedger) Claim(ctx context.Context, c ledger.Claim) (ledger.Found, error) {
	began := l.now()
	f, err := l.Ledger.Claim(ctx, c)
	l.count("claim", began, err)
	l.found(f)
	return f, err //nolint:wrapcheck // it is the ledger's
}

func (l *meteredLedger) Find(ctx context.Context, run int64) (ledger.Found, error) {
	began := l.now()
	f, err := l.Ledger.Find(ctx, run)
	l.count("find", began, err)
	l.found(f)
	return f, err //nolint:wrapcheck // it is the ledger's
}

func (l *meteredLedger) Await(ctx context.Context, run int64) (ledger.Found, error) {
	f, err := l.Ledger.Await(ctx, run)
	l.found(f)
	return f, err //nolint:wrapcheck // it is the ledger's
}

func (l *meteredLedger) Sending(ctx context.Context, t ledger.Ticket, base turn.Baseline, request []byte, keyed bool) error {
	began := l.now()
	err := l.Ledger.Sending(ctx, t, base, request, keyed)
	l.count("sending", began, err)
	return err //nolint:wrapcheck // it is the ledger's
}

func (l *meteredLedger) Secure(ctx context.Context) error {
	began := l.now()
	err := l.Ledger.Secure(ctx)
	l.count("secure", began, err)
	return err //nolint:wrapcheck // it is the ledger's
}

func (l *meteredLedger) Running(ctx context.Context, t ledger.Ticket) error {
	began := l.now()
	err := l.Ledger.Running(ctx, t)
	l.count("running", began, err)
	return err //nolint:wrapcheck // it is the ledger's
}

func (l *meteredLedger) Started(ctx context.Context, t ledger.Ticket, interrupt func(context.Context) error) error {
	began := l.now()
	err := l.Ledger.Started(ctx, t, interrupt)
	l.count("started", began, err)
	return err //nolint:wrapcheck // it is the ledger's
}

func (l *meteredLedger) End(ctx context.Context, t ledger.Ticket, e ledger.Ending) error {
	began := l.now()
	err := l.Ledger.End(ctx, t, e)
	l.count("end", began, err)
	return err //nolint:wrapcheck // it is the ledger's
}

func (l *meteredLedger) Orphans(ctx context.Context) ([]ledger.Found, error) {
	began := l.now()
	found, err := l.Ledger.Orphans(ctx)
	l.count("orphans", began, err)
	l.m.TakenOver(len(found))
	return found, err //nolint:wrapcheck // it is the ledger's
}
