package repeat

import (
	"container/list"
	"time"
)

// Run is a run with its history as it is now.
type Run interface{ History() History }

// Index has the runs of one fingerprint that can answer a request. The zero value is
// empty.
//
// What a run can answer is fixed once it has ended and has no client. Those runs are in
// classes, by the rules that can apply to them: a request looks at the newest of a class,
// not at all of it. Only failures under a profile that was repaired since are passed over
// one by one. Runs that go on or have clients are looked at each time: they are as many as
// may run and be connected.
type Index[R Run] struct {
	made    uint64
	size    int
	live    class[R]
	settled [3]class[R] // see classOf
}

// Entry is a run's place in an index.
type Entry[R Run] struct {
	run     R
	number  uint64  // in the order of their beginnings
	history History // of a settled run; else as it was at the last look
	class   *class[R]
	element *list.Element
}

// class is runs in the order of their beginnings.
type class[R Run] struct {
	runs list.List
	// until is when each rule stops to apply to all of them, or later.
	until [len(rules)]time.Time
}

// classOf returns which class a settled run is in: an answer that is owed, a failure
// that was delivered, or what only a mark can mean.
func classOf(h History) int {
	switch {
	case h.Owed > 0:
		return 0
	case h.Failed && h.Deliveries > 0:
		return 1
	}
	return 2
}

// Len counts the runs.
func (x *Index[R]) Len() int { return x.size }

// Add adds a run that begins.
func (x *Index[R]) Add(run R) *Entry[R] {
	e := &Entry[R]{run: run, number: x.made}
	x.made++
	x.size++
	e.enter(&x.live)
	return e
}

// Settle says that the run has ended and has no client, with its history from now on.
func (x *Index[R]) Settle(e *Entry[R], h History) {
	e.leave()
	e.history = h
	e.enter(&x.settled[classOf(h)])
}

// Reopen says that the run has a client again.
func (x *Index[R]) Reopen(e *Entry[R]) {
	e.leave()
	e.enter(&x.live)
}

// Remove takes a run out.
func (x *Index[R]) Remove(e *Entry[R]) {
	e.leave()
	x.size--
}

// Find finds the run that answers a request without a new one. repaired reports whether
// the profile of a run has changed since it began, which is of interest where it failed.
func (x *Index[R]) Find(q Question, repaired func(run R, revision string) bool, now time.Time) (run R, ok bool) {
	for at := x.live.runs.Back(); at != nil; at = at.Prev() {
		e := at.Value.(*Entry[R])
		e.history = e.run.History()
	}
	for i, rule := range rules {
		if !rule.concerns(q) {
			continue
		}
		applies := func(e *Entry[R]) bool {
			return rule.applies(e.history, func(revision string) bool { return repaired(e.run, revision) }, now)
		}
		found := x.live.newest(applies)
		for c := range x.settled {
			if !now.Before(x.settled[c].until[i]) {
				continue
			}
			other := x.settled[c].newest(applies)
			if found == nil || other != nil && other.number > found.number {
				found = other
			}
		}
		if found != nil {
			return found.run, true
		}
	}
	return run, false
}

// newest returns the last run that fits; nil: none does.
func (c *class[R]) newest(fits func(*Entry[R]) bool) *Entry[R] {
	for at := c.runs.Back(); at != nil; at = at.Prev() {
		if e := at.Value.(*Entry[R]); fits(e) {
			return e
		}
	}
	return nil
}

// enter puts the run into a class. Its place is near the end: runs settle in about the order
// of their beginnings, and one that took long passes the newer ones once.
func (e *Entry[R]) enter(c *class[R]) {
	if c.runs.Len() == 0 {
		c.until = [len(rules)]time.Time{}
	}
	for i, rule := range rules {
		if ends := rule.until(e.history); ends.After(c.until[i]) {
			c.until[i] = ends
		}
	}
	e.class = c
	for at := c.runs.Back(); at != nil; at = at.Prev() {
		if at.Value.(*Entry[R]).number < e.number {
			e.element = c.runs.InsertAfter(e, at)
			return
		}
	}
	e.element = c.runs.PushFront(e)
}

// leave takes the run out of its class.
func (e *Entry[R]) leave() {
	e.class.runs.Remove(e.element)
	e.class, e.element = nil, nil
}
