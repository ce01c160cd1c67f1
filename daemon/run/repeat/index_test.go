package repeat

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// told is a run whose history a test says.
type told struct {
	index   int
	history History
}

// History implements Run.
func (r *told) History() History { return r.history }

// joins is the index of the run that answers a request, or -1, where the revision of
// the profile is empty. Runs that have ended are settled.
func joins(runs []History, q Question, now time.Time) int {
	var x Index[*told]
	for i, h := range runs {
		e := x.Add(&told{index: i, history: h})
		if h.Ended {
			x.Settle(e, h)
		}
	}
	return found(&x, q, now)
}

func found(x *Index[*told], q Question, now time.Time) int {
	if run, ok := x.Find(q, func(_ *told, revision string) bool { return revision != "" }, now); ok {
		return run.index
	}
	return -1
}

// passing is [Index.Find] as a pass over all runs, each rule in its own words.
func passing(runs []*told, q Question, now time.Time) int {
	owed := func(h History) bool {
		keep := undelivered
		if q.Retry {
			keep = undeliveredMarked
		}
		return h.Owed > 0 && (!h.Ended || now.Sub(h.EndedAt) < keep)
	}
	failed := func(h History) bool {
		return h.Failed && h.Deliveries > 0 && h.Revision == "" && now.Before(h.FailureEnds())
	}
	meant := func(h History) bool {
		switch {
		case !q.Retry || q.Refused:
			return false
		case !h.Ended:
			return true
		case h.Deliveries > 0:
			return !h.Failed && now.Sub(h.LastDeliver) < undelivered
		}
		return now.Sub(h.EndedAt) < undeliveredMarked
	}
	for _, rule := range [...]func(History) bool{owed, failed, meant} {
		for _, run := range slices.Backward(runs) {
			if !run.history.Stopped && rule(run.history) {
				return run.index
			}
		}
	}
	return -1
}

// history is a random one of a run; ages are from a moment to longer than anything is kept.
func history(rng *rand.Rand, now time.Time) History {
	ages := []time.Duration{0, 5 * time.Second, 20 * time.Second, 30 * time.Second, 70 * time.Second, 4 * time.Minute, 10 * time.Minute, time.Hour}
	ago := func() time.Time {
		return now.Add(-ages[rng.IntN(len(ages))] + time.Duration(rng.IntN(3)-1)*time.Second)
	}
	h := History{Stopped: rng.IntN(8) == 0, Ended: rng.IntN(4) > 0, Owed: rng.IntN(4) - 2}
	if rng.IntN(4) == 0 {
		h.Revision = "old"
	}
	if !h.Ended {
		return h
	}
	h.Failed, h.EndedAt = rng.IntN(2) == 0, ago()
	if h.Deliveries = rng.IntN(5); h.Deliveries > 0 {
		h.FirstDeliver = ago()
		h.LastDeliver = h.FirstDeliver.Add(time.Duration(rng.IntN(60)) * time.Second)
	}
	return h
}

// Whatever happened to the runs, an index finds what a pass over all of them finds.
func TestAnIndexFindsWhatAPassFinds(t *testing.T) {
	t.Parallel()
	hits := 0
	for seed := range uint64(2000) {
		rng, now := rand.New(rand.NewPCG(seed, 1)), time.Now()
		var x Index[*told]
		var runs []*told
		entries := map[*told]*Entry[*told]{}
		for step := range 60 {
			switch n := rng.IntN(6); {
			case n < 2 || len(runs) == 0:
				run := &told{index: step, history: history(rng, now)}
				runs = append(runs, run)
				entries[run] = x.Add(run)
			case n < 4: // it ends, or its last client leaves
				run := runs[rng.IntN(len(runs))]
				if run.history = history(rng, now); run.history.Ended {
					x.Settle(entries[run], run.history)
				} else {
					x.Reopen(entries[run])
				}
			case n == 4: // a client comes, and what is known changes by itself
				run := runs[rng.IntN(len(runs))]
				x.Reopen(entries[run])
				run.history = history(rng, now)
			default:
				at := rng.IntN(len(runs))
				x.Remove(entries[runs[at]])
				runs = slices.Delete(runs, at, at+1)
			}
			now = now.Add(time.Duration(rng.IntN(4000)) * time.Millisecond)
			if x.Len() != len(runs) {
				t.Fatalf("seed %d, step %d: the length = %d, want %d", seed, step, x.Len(), len(runs))
			}
			for _, q := range []Question{{}, {Retry: true}, {Retry: true, Refused: true}} {
				got, want := found(&x, q, now), passing(runs, q, now)
				if got != want {
					t.Fatalf("seed %d, step %d, %+v: the run = %d, want %d", seed, step, q, got, want)
				}
				if got >= 0 {
					hits++
				}
			}
		}
	}
	if hits < 10_000 {
		t.Errorf("the hits = %d: the histories are too old", hits)
	}
}

// BenchmarkFind looks for a run among those that are kept: delivered answers, and
// answers that no client came back for.
func BenchmarkFind(b *testing.B) {
	for _, kept := range []int{0, 1000, 10_000} {
		b.Run(fmt.Sprintf("kept=%d", kept), func(b *testing.B) {
			now := time.Now()
			var x Index[*told]
			for i := range kept {
				h := History{Ended: true, EndedAt: now.Add(-time.Minute), Deliveries: 1, LastDeliver: now}
				if i%2 == 0 {
					h = History{Ended: true, EndedAt: now.Add(-time.Minute), Owed: 1}
				}
				x.Settle(x.Add(&told{index: i, history: h}), h)
			}
			for b.Loop() {
				if i := found(&x, Question{}, now); i >= 0 {
					b.Fatalf("the run = %d, want none", i)
				}
			}
		})
	}
}
