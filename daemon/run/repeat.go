package run

import (
	"slices"
	"time"
)

// How long an ended job answers repeats.
const (
	// undelivered: an answer that no client got whole is for the next who asks.
	undelivered = 30 * time.Second
	// undeliveredMarked: the same for requests marked as a repeat, whose
	// clients wait longer between attempts.
	undeliveredMarked = 10 * time.Minute
	// refusedFor is how long a request that was refused, and of which nothing was
	// started, is expected to come again marked as a repeat.
	refusedFor = 2 * time.Minute
	// A failure that was delivered is repeated to retry loops that mark
	// nothing: first for 10 s after the last delivery, twice as long after each
	// repeat, never more than 80 s at a time, 5 minutes in all. The slowest of
	// the known loops, LangChain's for JavaScript, pauses for up to 64 s before
	// its seventh and last attempt.
	failureFirst = 10 * time.Second
	failureMost  = 80 * time.Second
	failureAll   = 5 * time.Minute
)

// history is what the rules of joining know of a job.
type history struct {
	stopped bool // by a request, or by the manager because it had no client
	ended   bool
	failed  bool // the end was a failure of the run
	// owed is how many clients went away without the whole answer, less those
	// that came back for it. It is below zero while a client that marked its
	// request as a repeat is attached beside one that has not been missed yet.
	owed     int
	revision string // of the profile

	endedAt      time.Time
	deliveries   int // how often the last frame of the answer was written
	firstDeliver time.Time
	lastDeliver  time.Time
}

// question is what the rules of joining know of a request that has no
// idempotency key.
type question struct {
	retry    bool   // its client marked it as a repeat
	refused  bool   // an identical request was refused a moment ago: the mark may mean that one
	revision string // of the profile now
}

// joins is the one place where it is decided which earlier job answers a
// request with the same fingerprint: the index in jobs, oldest first, or -1 for
// a run of its own. A client that has its answer never shares a job with a
// request without a mark, at whatever moment that comes.
func joins(jobs []history, q question, now time.Time) int {
	for _, rule := range [...]func(history, question, time.Time) bool{isOwed, failedJustNow, isMeant} {
		for i, h := range slices.Backward(jobs) {
			if !h.stopped && rule(h, q, now) {
				return i
			}
		}
	}
	return -1
}

// isOwed: a client went away before the last frame of its answer was written,
// and this one may be that client.
func isOwed(h history, q question, now time.Time) bool {
	if h.owed <= 0 {
		return false
	}
	keep := undelivered
	if q.retry {
		keep = undeliveredMarked
	}
	return !h.ended || now.Sub(h.endedAt) < keep
}

// failedJustNow reports whether the run failed, a client knows it, and the
// profile has not been repaired since.
func failedJustNow(h history, q question, now time.Time) bool {
	return h.failed && h.deliveries > 0 && q.revision == h.revision && now.Before(h.failureEnds())
}

// isMeant: the mark says that its client did not get the answer, although it
// seems to be connected or was written to. A mark that can mean a request that
// was refused says nothing of the kind.
func isMeant(h history, q question, now time.Time) bool {
	switch {
	case !q.retry || q.refused:
		return false
	case !h.ended:
		return true
	case h.deliveries > 0:
		return !h.failed && now.Sub(h.lastDeliver) < undelivered
	}
	return now.Sub(h.endedAt) < undeliveredMarked
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
	case h.stopped:
		return 0
	case h.deliveries == 0 || h.owed > 0:
		return h.endedAt.Add(undeliveredMarked).Sub(now)
	case h.failed:
		return h.failureEnds().Sub(now)
	default:
		return h.lastDeliver.Add(undelivered).Sub(now)
	}
}

// The revisions of the profiles of jobs, as [joins] compares them.
const (
	asItIs   = "as it is"
	repaired = "repaired"
)

// repeated finds the job that a request without an idempotency key repeats, where
// revision is that of the job's profile now. refused says that the request may be one
// that was refused. The caller holds m.mu.
func (m *Manager) repeated(who Asker, revision func(*job) string) (j *job, refused bool) {
	now := m.cfg.Now()
	jobs := m.prints[who.Fingerprint]
	known := make([]history, len(jobs))
	q := question{retry: who.Retry, refused: who.Retry && m.refused.expects(who.Fingerprint, now), revision: asItIs}
	for i, j := range jobs {
		known[i] = j.history()
		current := known[i].revision == revision(j) // jobs of one request can have several profiles
		if known[i].revision = asItIs; !current {
			known[i].revision = repaired
		}
	}
	if i := joins(known, q, now); i >= 0 {
		return jobs[i], q.refused
	}
	return nil, q.refused
}

// Repeated is the run that answers a request without a new one.
type Repeated struct {
	Profile      string // empty: an earlier process knew it
	Conversation string
}

// RunOf finds the run that a request repeats, and starts nothing. revision returns the
// revision that a profile has now.
func (m *Manager) RunOf(who Asker, revision func(profile string) string) (Repeated, bool) {
	m.mu.Lock()
	var j *job
	switch {
	case who.IdempotencyKey != "":
		if j = m.keys[recordKey(who.Token, who.IdempotencyKey)]; j != nil && j.life.gaveUp() {
			j = nil
		}
	case !who.Fresh:
		j, _ = m.repeated(who, func(j *job) string { return revision(j.req.Profile) })
	}
	m.mu.Unlock()
	if j != nil {
		return Repeated{Profile: j.req.Profile, Conversation: j.id}, true
	}
	if who.IdempotencyKey == "" {
		return Repeated{}, false
	}
	rec, err := m.records.find(recordKey(who.Token, who.IdempotencyKey))
	if err != nil || rec == nil || !rec.readable {
		return Repeated{}, false // whoever asks for the run gets the error
	}
	return Repeated{Conversation: rec.conversation}, true
}
