package run

import "time"

// How long an ended job answers repeats.
const (
	// undelivered: an answer that no client got whole is for the next who asks.
	undelivered = 30 * time.Second
	// undeliveredMarked: the same for requests marked as a repeat, whose
	// clients wait longer between attempts.
	undeliveredMarked = 10 * time.Minute
	// A failure that was delivered is repeated to retry loops that mark
	// nothing: first for 10 s after the last delivery, twice as long after each
	// repeat, never more than 80 s at a time, 5 minutes in all. The slowest of
	// the known loops, LangChain's for JavaScript, pauses for up to 64 s before
	// its seventh and last attempt.
	failureFirst = 10 * time.Second
	failureMost  = 80 * time.Second
	failureAll   = 5 * time.Minute
)

// history is what the rules of joining look at.
type history struct {
	connected bool // a client is attached now
	ended     bool
	failed    bool // the end was a failure of the run
	abandoned bool // we interrupted it because nobody was there
	revision  string

	endedAt      time.Time
	deliveries   int // how often the whole answer reached a client
	firstDeliver time.Time
	lastDeliver  time.Time
}

// joins tells whether a request with the same fingerprint, and without an
// idempotency key, is answered by the job instead of a new run.
func (h history) joins(retry bool, revision string, now time.Time) bool {
	if !h.ended {
		// Two clients that are connected at the same time want two answers.
		return retry || !h.connected
	}
	if h.abandoned {
		return false
	}
	if h.failed && h.deliveries > 0 {
		return revision == h.revision && now.Before(h.failureEnds())
	}
	if h.deliveries > 0 {
		// It reached the client as far as we know. A marked repeat knows better,
		// for a moment.
		return retry && now.Sub(h.lastDeliver) < undelivered
	}
	if retry {
		return now.Sub(h.endedAt) < undeliveredMarked
	}
	return now.Sub(h.endedAt) < undelivered
}

// failureEnds is when a delivered failure is forgotten and an identical
// request runs again.
func (h history) failureEnds() time.Time {
	window := failureMost
	if n := h.deliveries - 1; n < 3 { // 10 s, 20 s, 40 s, then 80 s
		window = failureFirst << n
	}
	ends, all := h.lastDeliver.Add(window), h.firstDeliver.Add(failureAll)
	if all.Before(ends) {
		return all
	}
	return ends
}

// keep is how long from now the job can still answer anybody.
func (h history) keep(now time.Time) time.Duration {
	switch {
	case h.abandoned:
		return 0
	case h.deliveries == 0:
		return h.endedAt.Add(undeliveredMarked).Sub(now)
	case h.failed:
		return h.failureEnds().Sub(now)
	default:
		return h.lastDeliver.Add(undelivered).Sub(now)
	}
}
