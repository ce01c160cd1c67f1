package fakeserver

import "cmp"

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

// occupy takes room for a run, and reports whether there was any. The creation of
// a conversation takes some, too, while it goes on.
func (s *Server) occupy() bool {
	if s.version < sinceRunLimit {
		s.runs.Add(1)
		return true
	}
	for {
		n := s.runs.Load()
		if n >= int64(cmp.Or(s.opts.MaxRuns, defaultMaxRuns)) {
			return false
		}
		if s.runs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (s *Server) vacate() { s.runs.Add(-1) }

// Runs is how many runs go on.
func (s *Server) Runs() int { return int(s.runs.Load()) }
