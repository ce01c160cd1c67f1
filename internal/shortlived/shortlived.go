// Package shortlived sets how much memory a program may fill before its garbage is
// collected: one that ends soon, until it says that it stays. What the user has set by
// GOGC stays as it is; GOMEMLIMIT is the runtime's own.
package shortlived

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// brief is how much a heap of 4 MB may grow, in percent. Most commands end before their
// first collection then, which takes a sixth of the processor time of their start.
const brief = 400

// init makes the first collection late. In main it would be too late: libraries fill
// 3 MB before. Go initialises packages in the order of their paths: this one after
// internal/sandbox/helperinit, whose processes stay small, and before those libraries.
func init() { Stay(brief) }

// Stay says that the program stays: its heap may grow by percent of what is in use,
// unless the user has set GOGC.
func Stay(percent int) {
	if !isSet() {
		debug.SetGCPercent(percent)
	}
}

// Pace is how much a heap may grow, in percent, by what is in use: Small up to Limit
// bytes, Large beyond.
type Pace struct {
	Small, Large int
	Limit        uint64
}

// StayAt says that the program stays: what its heap may grow by is chosen with each
// collection, unless the user has set GOGC.
func StayAt(p Pace) {
	if isSet() {
		return
	}
	debug.SetGCPercent(p.Small)
	follow(&follower{pace: p, percent: p.Small})
}

// follower is garbage of each collection: its finalizer runs behind it.
type follower struct {
	pace    Pace
	percent int // as it was set last
}

// follow has f look at the heap behind the next collection, and all after it.
func follow(f *follower) {
	runtime.SetFinalizer(f, func(f *follower) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		want := f.pace.Small
		if live[0].Value.Uint64() > f.pace.Limit {
			want = f.pace.Large
		}
		if want != f.percent { // it stops the world
			debug.SetGCPercent(want)
			f.percent = want
		}
		follow(f)
	})
}

// isSet reports whether the user has set GOGC.
func isSet() bool {
	return os.Getenv("GOGC") != "" //nolint:forbidigo // as the runtime reads it, before there is a cli.Env
}
