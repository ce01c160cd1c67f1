package run

import (
	"time"

	"github.com/ohgw/ohgw/daemon/run/repeat"
)

// defaultGrace is how long a run without a client goes on.
const defaultGrace = 10 * time.Second

// What follows concerns both halves of a job: what its clients do decides how
// long it lives. delivery's mutex is held throughout, life's within.

// attach adds the client that made the job.
func (j *job) attach(gone func() bool) *Attachment {
	return j.delivery.add(&Attachment{job: j, gone: gone, begins: j.follow == nil})
}

// join adds a client that repeats an earlier one.
func (j *job) join(req Request) *Attachment {
	a := j.delivery.add(&Attachment{job: j, gone: req.Gone, replayed: true})
	j.delivery.repeat(a, req)
	return a
}

// lose takes a client away. A job that runs on without a client is interrupted
// after the grace, at once where another request waits for it.
func (j *job) lose(a *Attachment, owed, awaited bool) {
	j.delivery.mu.Lock()
	defer j.delivery.mu.Unlock()
	j.delivery.remove(a, owed)
	switch {
	case j.delivery.isWanted() || !j.life.goesOn():
	case awaited && j.isShared():
		j.share.p.teller.Beside(func() { j.m.cfg.guard(j.id, func() { j.share.abandon(j) }) })
	case awaited:
		j.life.halt(ErrAbandoned)
	default:
		j.delivery.grace = time.AfterFunc(j.m.cfg.Grace, func() { j.m.cfg.guard(j.id, j.supersede) })
	}
}

// supersede interrupts the job if no client is attached to it.
func (j *job) supersede() {
	if j.isShared() { // other gateways are asked
		j.share.p.teller.Beside(func() { j.m.cfg.guard(j.id, func() { j.share.abandon(j) }) })
		return
	}
	j.delivery.mu.Lock()
	defer j.delivery.mu.Unlock()
	if !j.delivery.isWanted() && j.life.goesOn() {
		j.life.halt(ErrAbandoned)
	}
}

// isWanted reports whether a client wants what the job makes.
func (j *job) isWanted() bool {
	j.delivery.mu.Lock()
	defer j.delivery.mu.Unlock()
	return j.delivery.isWanted() && j.life.goesOn()
}

// History is what the rules of joining know of the job.
func (j *job) History() repeat.History {
	j.delivery.mu.Lock()
	defer j.delivery.mu.Unlock()
	return j.historyLocked()
}

// settled is the history of the job; idle reports whether only a new client can
// change it: the job has ended, and has no client.
func (j *job) settled() (h repeat.History, idle bool) {
	j.delivery.mu.Lock()
	defer j.delivery.mu.Unlock()
	h = j.historyLocked()
	return h, h.Ended && len(j.delivery.clients) == 0
}

// historyLocked is [job.History] for a caller that holds delivery's mutex.
func (j *job) historyLocked() repeat.History {
	d := &j.delivery
	h := j.life.history()
	h.Revision = j.req.ProfileRevision
	h.Owed, h.Deliveries, h.FirstDeliver, h.LastDeliver = d.owing(), d.count, d.first, d.last
	return h
}
