package fakeserver

import (
	"cmp"
	"math"
	"sync/atomic"
)

// sinceRunLimit is the version from which on a server refuses a run above its
// limit, and defaultMaxRuns that limit. 1.50.0 has none, and 1.52.0 has one.
const (
	sinceRunLimit  = 1051
	defaultMaxRuns = 10
)

// The words of the refusals.
const (
	runLimit      = "Conversation run limit reached. Retry the request later."
	savedRunLimit = "Message saved, but the conversation run limit was reached. Retry POST /api/conversations/%s/run without resending the message."
)

// runs are the runs that go on.
type runs struct {
	n    atomic.Int64
	most int64 // at the same time
}

// mostRuns is how many runs a server with these options has at the same time.
func mostRuns(opts Options) int64 {
	if parseVersion(opts.Version) < sinceRunLimit {
		return math.MaxInt64
	}
	return int64(cmp.Or(opts.MaxRuns, defaultMaxRuns))
}

// enter takes room for a run, and reports whether there was any. The creation of
// a conversation takes some, too, while it goes on.
func (r *runs) enter() bool {
	for {
		n := r.n.Load()
		if n >= r.most {
			return false
		}
		if r.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (r *runs) leave() { r.n.Add(-1) }

// Runs is how many runs go on.
func (s *Server) Runs() int { return int(s.runs.n.Load()) }
