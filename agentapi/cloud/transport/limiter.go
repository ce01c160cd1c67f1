package transport

import (
	"context"
	"sync"
	"time"
)

// The server allows 10 requests a second and 100 a minute; other programs of
// the same person need some, too.
const (
	perSecond = 8
	perMinute = 90
)

// limiter keeps requests below what the server allows.
type limiter struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	mu   sync.Mutex
	sent [perMinute]time.Time // a ring: when the latest requests were sent, or may be
	next int
}

// wait returns when a request may be sent.
func (l *limiter) wait(ctx context.Context) error {
	if delay := l.reserve(); delay > 0 {
		return l.sleep(ctx, delay)
	}
	return ctx.Err()
}

// reserve takes the next place and returns how long it is till then. A clock
// that was set back or ahead costs at most a minute, once.
func (l *limiter) reserve() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	at := now
	for _, rule := range []struct {
		n   int
		per time.Duration
	}{{perSecond, time.Second}, {perMinute, time.Minute}} {
		before := l.sent[(l.next-rule.n+perMinute)%perMinute]
		if before.IsZero() {
			continue
		}
		if free := before.Add(rule.per); free.After(at) {
			at = free
		}
	}
	if at.Sub(now) > 10*time.Minute { // the clock was set back
		l.sent = [perMinute]time.Time{}
		at = now
	}
	l.sent[l.next] = at
	l.next = (l.next + 1) % perMinute
	return at.Sub(now)
}
