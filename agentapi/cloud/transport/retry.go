package transport

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxRepeats = 3
	// maxPause bounds how long a repeat waits: who must wait longer gets the error,
	// with the time in it.
	maxPause = time.Minute
)

// retry makes an attempt, and repeats it where that does no harm and may help. All
// attempts together take at most twice the limit of one: a server that is silent is
// not asked four times.
func (c *Client) retry(ctx context.Context, r Request, attempt func() error) error {
	timeout := cmp.Or(r.Timeout, c.o.Timeout)
	last := c.o.Now().Add(timeout) // when a repeat may begin
	for n := 0; ; n++ {
		if r.Target == nil || SameServer(r.Target.Base, c.root) {
			if err := c.limit.wait(ctx); err != nil {
				return c.unsent(r, err)
			}
		}
		err := attempt()
		if err == nil || n == maxRepeats || !r.repeatable() || ended(ctx) {
			return err
		}
		pause, ok := pauseBefore(n, err)
		if late := c.o.Now().Add(pause).After(last); late && !asked(err) {
			return err
		}
		if !ok || c.o.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// asked reports whether the server wants the client to try again later.
func asked(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.RetryAfter > 0
}

// unsent returns the error of a request that its caller ended while it waited.
func (c *Client) unsent(r Request, err error) error {
	return &Error{Method: r.method(), Host: c.root.Host, Path: r.Path, Kind: ErrUpstream, Err: errors.Join(err, errNotSent)}
}

// pauseBefore is how long to wait before the repeat after err; ok is false if a
// repeat cannot help, or the server wants more time than maxPause.
func pauseBefore(n int, err error) (pause time.Duration, ok bool) {
	e, is := errors.AsType[*Error](err)
	if !is || !e.Is(ErrUpstream) && !e.Is(ErrRateLimited) || errors.Is(err, errNotSent) {
		return 0, false
	}
	pause = time.Second << n
	if e.RetryAfter > pause {
		pause = e.RetryAfter
	}
	return pause, pause <= maxPause
}

// retryAfter reads how long the server wants the client to wait. A date counts
// from the server's own clock, where it says what time it is there: neither clock
// need be right.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if seconds > 0 && seconds < 1e6 {
			return time.Duration(seconds * float64(time.Second))
		}
		return 0
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if there, err := http.ParseTime(h.Get("Date")); err == nil {
		now = there
	}
	if d := at.Sub(now); d > 0 && d < 24*time.Hour {
		return d
	}
	return 0
}
