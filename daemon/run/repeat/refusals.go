package repeat

import "time"

// refusedFor is how long a request that was refused, and of which nothing was
// started, is expected to come again marked as a repeat.
const refusedFor = 2 * time.Minute

// Refusals counts the requests that were refused a moment ago, or whose job
// ended before it started anything. Their clients send them again, marked as
// repeats, and mean no run that goes on: a hundred samples of an evaluation are
// more than may wait. The caller guards it.
type Refusals[K comparable] map[K]refusal

type refusal struct {
	count int
	last  time.Time
}

// maxRefusals bounds how many different requests are remembered.
const maxRefusals = 1024

// Note counts a request that was refused.
func (r Refusals[K]) Note(key K, now time.Time) {
	if len(r) >= maxRefusals {
		r.sweep(now)
	}
	kept := r[key]
	if now.Sub(kept.last) >= refusedFor {
		kept.count = 0
	}
	r[key] = refusal{count: kept.count + 1, last: now}
}

// Expects reports whether a marked repeat may be of a request that was refused.
func (r Refusals[K]) Expects(key K, now time.Time) bool {
	kept := r[key]
	return kept.count > 0 && now.Sub(kept.last) < refusedFor
}

// Came counts a repeat that was let in.
func (r Refusals[K]) Came(key K) {
	kept := r[key]
	if kept.count--; kept.count <= 0 {
		delete(r, key)
		return
	}
	r[key] = kept
}

// sweep forgets what is old, or everything where nothing is.
func (r Refusals[K]) sweep(now time.Time) {
	for key, kept := range r {
		if now.Sub(kept.last) >= refusedFor {
			delete(r, key)
		}
	}
	if len(r) >= maxRefusals {
		clear(r)
	}
}
