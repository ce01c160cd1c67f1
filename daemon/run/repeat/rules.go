// Package repeat decides which earlier run answers a request that looks the same, and
// finds it among those that are kept.
//
// The rules are three, in rules.go. [Index] finds what a pass over all runs would find,
// newest first, rule by rule, in a time that does not grow with what is kept. It knows
// nothing of runs but their [History], and has no lock of its own.
package repeat

import "time"

// How long an ended run answers repeats.
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

// History is what the rules know of a run.
type History struct {
	Stopped bool // by a request, or by the manager because it had no client
	Ended   bool
	Failed  bool // the end was a failure of the run
	// Owed is how many clients went away without the whole answer, less those
	// that came back for it. It is below zero while a client that marked its
	// request as a repeat is attached beside one that has not been missed yet.
	Owed     int
	Revision string // of the profile

	EndedAt      time.Time
	Deliveries   int // how often the last frame of the answer was written
	FirstDeliver time.Time
	LastDeliver  time.Time
}

// Question is what the rules know of a request that has no idempotency key.
type Question struct {
	Retry   bool // its client marked it as a repeat
	Refused bool // an identical request was refused a moment ago: the mark may mean that one
}

// rule is one reason why a run answers a request without a run of its own.
type rule struct {
	concerns   func(q Question) bool     // for which requests
	running    func(h History) bool      // whether a run that goes on does
	until      func(h History) time.Time // until when an ended run does; zero: never
	unrepaired bool                      // only under the revision of the profile that the run had
}

// rules are the one place where it is decided which earlier run answers a request
// with the same fingerprint: the newest to which the first rule applies, or else the
// second, and so on. A client that has its answer never shares a run with a request
// without a mark, at whatever moment that comes.
//
// An answer is owed: a client went away before its last frame was written, and this one
// may be that client. Or the run failed just now, a client knows it, and the profile has
// not been repaired since. Or the run is meant: the mark says that its client did not get
// the answer, although it seems to be connected or was written to. A mark that can mean a
// request that was refused says nothing of the kind.
var rules = [...]rule{
	{func(q Question) bool { return !q.Retry }, isOwed, func(h History) time.Time { return h.owedUntil(undelivered) }, false},
	{func(q Question) bool { return q.Retry }, isOwed, func(h History) time.Time { return h.owedUntil(undeliveredMarked) }, false},
	{func(Question) bool { return true }, func(History) bool { return false }, History.failedUntil, true},
	{func(q Question) bool { return q.Retry && !q.Refused }, func(History) bool { return true }, History.meantUntil, false},
}

// isOwed reports whether a client went away without its answer.
func isOwed(h History) bool { return h.Owed > 0 }

// applies reports whether the rule is a reason for this run. repaired reports whether the
// profile of the run has changed since it began.
func (r rule) applies(h History, repaired func(revision string) bool, now time.Time) bool {
	switch {
	case h.Stopped:
		return false
	case !h.Ended:
		return r.running(h)
	}
	return now.Before(r.until(h)) && (!r.unrepaired || !repaired(h.Revision))
}

// owedUntil is until when the answer is kept for a client that went away.
func (h History) owedUntil(keep time.Duration) time.Time {
	if !isOwed(h) {
		return time.Time{}
	}
	return h.EndedAt.Add(keep)
}

// failedUntil is until when an identical request is answered with a failure that
// was delivered.
func (h History) failedUntil() time.Time {
	if !h.Failed || h.Deliveries == 0 {
		return time.Time{}
	}
	return h.FailureEnds()
}

// meantUntil is until when a mark means an ended run.
func (h History) meantUntil() time.Time {
	switch {
	case h.Deliveries == 0:
		return h.EndedAt.Add(undeliveredMarked)
	case h.Failed:
		return time.Time{}
	}
	return h.LastDeliver.Add(undelivered)
}

// FailureEnds is when a delivered failure is forgotten and an identical
// request runs again.
func (h History) FailureEnds() time.Time {
	window := failureMost
	if n := h.Deliveries - 1; n < 3 { // 10 s, 20 s, 40 s, then 80 s
		window = failureFirst << n
	}
	ends, all := h.LastDeliver.Add(window), h.FirstDeliver.Add(failureAll)
	if all.Before(ends) {
		return all
	}
	return ends
}

// Keep is how long from now the run can still answer a request.
func (h History) Keep(now time.Time) time.Duration {
	switch {
	case h.Stopped:
		return 0
	case h.Deliveries == 0 || h.Owed > 0:
		return h.EndedAt.Add(undeliveredMarked).Sub(now)
	case h.Failed:
		return h.FailureEnds().Sub(now)
	default:
		return h.LastDeliver.Add(undelivered).Sub(now)
	}
}
