package llm

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
)

// Retry is a repeat of a request that failed. It is announced before the wait.
type Retry struct {
	Attempt int           // the number of the next attempt, from 2; 1 with a fallback profile
	Of      int           // attempts in all
	Wait    time.Duration // before the next attempt
	Cause   string        // why the last one failed, in one line: no key, no URL
}

// A provider that refuses connections, or whose host name does not exist, is
// not asked again and again: a server that restarts is back after a moment, and
// everything else needs a person.
const (
	absentAttempts = 2
	absentWait     = 2 * time.Second
)

// attempts is how often a profile's request may be sent in all.
func attempts(p *Profile) int { return max(1, p.NumRetries) }

// retry waits behind the n-th attempt, which failed with err, and prepares the
// next one. Its error says that there is none.
func (m *model) retry(ctx context.Context, c *wire.Call, n int, err error, keys credentials, out *relay) error {
	failed := m.failure(err, keys)
	m.learnSize(failed, err)
	of, wait := attempts(&m.cfg.Profile), m.wait(n, err)
	if isAbsent(err) {
		of, wait = min(of, absentAttempts), min(wait, absentWait)
	}
	if n >= of || !failed.transient() || isEmptyAccount(err) {
		return failed
	}
	if failed.Code == CodeNoResponse && c.Options.Temperature != nil && *c.Options.Temperature == 0 {
		warmer := 1.0
		c.Options.Temperature = &warmer
	}
	next := Retry{Attempt: n + 1, Of: of, Wait: wait, Cause: m.briefly(err, failed)}
	m.cfg.Logger.WarnContext(ctx, "llm failed; trying again",
		slog.String("model", m.cfg.Profile.Model), slog.String("code", failed.Code), slog.String("cause", next.Cause),
		slog.Int("attempt", next.Attempt), slog.Int("of", of), slog.Duration("wait", wait))
	out.announce(next)
	if err := sleep(ctx, wait); err != nil {
		return err
	}
	if failed.Code == CodeTimeout {
		// A network may have lost the connection without an error. Connections
		// that are idle now are not used again.
		m.cfg.HTTP.CloseIdleConnections()
	}
	return nil
}

// wait is how long to wait behind the n-th attempt: what the provider asks
// for, else twice as long each time, within the profile's bounds.
func (m *model) wait(n int, err error) time.Duration {
	p := &m.cfg.Profile
	least, most := seconds(p.RetryMinWait), seconds(p.RetryMaxWait)
	if refusal, ok := errors.AsType[*wire.Failure](err); ok && refusal.RetryAfter >= 0 {
		return max(least, min(refusal.RetryAfter, most))
	}
	const doublings = 30 // more than any bound allows
	return max(least, min(seconds(p.RetryMultiplier*float64(int64(1)<<min(n-1, doublings))), most))
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
