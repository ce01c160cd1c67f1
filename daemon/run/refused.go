package run

import "time"

// refusals counts the requests that were refused a moment ago, or whose job
// ended before it started anything. Their clients send them again, marked as
// repeats, and mean no run that goes on: a hundred samples of an evaluation are
// more than may wait. The manager's mutex guards it.
type refusals map[Fingerprint]refusal

type refusal struct {
	count int
	last  time.Time
}

// maxRefusals bounds how many different requests are remembered.
const maxRefusals = 1024

// note counts a request that was refused.
func (r refusals) note(print Fingerprint, now time.Time) {
	if len(r) >= maxRefusals {
		r.sweep(now)
	}
	kept := r[print]
	if now.Sub(kept.last) >= refusedFor {
		kept.count = 0
	}
	r[print] = refusal{count: kept.count + 1, last: now}
}

// expects tells whether a marked repeat may be of a request that was refused.
func (r refusals) expects(print Fingerprint, now time.Time) bool {
	kept := r[print]
	return kept.count > 0 && now.Sub(kept.last) < refusedFor
}

// came counts a repeat that was let in.
func (r refusals) came(print Fingerprint) {
	kept := r[print]
	if kept.count--; kept.count <= 0 {
		delete(r, print)
		return
	}
	r[print] = kept
}

// sweep forgets what is old, or everything where nothing is.
func (r refusals) sweep(now time.Time) {
	for print, kept := range r {
		if now.Sub(kept.last) >= refusedFor {
			delete(r, print)
		}
	}
	if len(r) >= maxRefusals {
		clear(r)
	}
}
