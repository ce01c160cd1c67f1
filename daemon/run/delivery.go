package run

import (
	"io"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/transcript"
)

// delivery is what the clients of a job had of it: the log of its updates, who
// reads it, and who has the whole answer. It knows nothing of the run.
//
// mu guards all of it. Under mu only the mutex of the job's life is taken.
type delivery struct {
	mu       sync.Mutex
	log      transcript.Log
	complete bool // nothing comes after the log
	clients  map[*Attachment]struct{}
	detached bool        // the run goes on without clients
	detailed bool        // some client wants tool calls described
	owed     int         // see history
	grace    *time.Timer // until a run without clients is interrupted; nil: none runs
	ignored  []string    // see [Attachment.Ignored]
	kind     string      // see [Attachment.Reconciled]
	where    string      // see [Attachment.Workspace]

	count int // how often the whole answer was delivered
	first time.Time
	last  time.Time
}

func newDelivery(req Request, maxLog int) delivery {
	return delivery{clients: make(map[*Attachment]struct{}), detached: req.Detach, detailed: req.Details, kind: req.Kind, log: transcript.New(maxLog)}
}

// add attaches a client. It ends a grace that was running: the job has a client again.
func (d *delivery) add(a *Attachment) *Attachment {
	a.wake = make(chan struct{}, 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients[a] = struct{}{}
	if d.grace != nil {
		d.grace.Stop()
		d.grace = nil
	}
	return a
}

// repeat notes that a is a client that repeats an earlier one. A marked repeat
// comes back for a client that may not have been missed yet. One that wants the
// run to go on without it is heard, whatever the earlier one wanted.
func (d *delivery) repeat(a *Attachment, req Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owing() > 0 || len(d.clients) > 1 && (req.Retry || req.IdempotencyKey != "") {
		d.owed--
		a.took = true
	}
	d.detached = d.detached || req.Detach
	d.detailed = d.detailed || req.Details
}

// isDetailed reports whether some client wants tool calls described.
func (d *delivery) isDetailed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.detailed
}

// owing is owed, and those clients that have hung up without the whole answer
// and are not removed yet. The caller holds d.mu.
func (d *delivery) owing() int {
	n := d.owed
	for a := range d.clients {
		if !a.delivered && a.gone != nil && a.gone() {
			n++
		}
	}
	return n
}

// hungUp counts the clients that have, without the whole answer, and are not removed yet.
func (d *delivery) hungUp() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.owing() - d.owed
}

// remove takes a client away. The caller holds d.mu.
func (d *delivery) remove(a *Attachment, owed bool) {
	delete(d.clients, a)
	if owed {
		d.owed++
	}
	d.owed = max(d.owed, -len(d.clients))
}

// isWanted reports whether anybody wants what comes. The caller holds d.mu.
func (d *delivery) isWanted() bool { return len(d.clients) > 0 || d.detached }

// isDetached reports whether the run goes on without clients.
func (d *delivery) isDetached() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.detached
}

// publish adds an update to the log and wakes the clients.
func (d *delivery) publish(u turn.Update) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log.Add(u)
	d.wake()
}

// finish says that the log is complete.
func (d *delivery) finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.complete = true
	if d.grace != nil {
		d.grace.Stop()
	}
	d.wake()
}

// wake lets every client look again. The caller holds d.mu.
func (d *delivery) wake() {
	for a := range d.clients {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
}

// at takes the next update of a from the log; ok is false when there is none yet.
func (d *delivery) at(a *Attachment) (u turn.Update, err error, ok bool) { //nolint:revive // the error is one of the values, not a failure
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case a.next < d.log.First() && a.replayed && a.next == 0:
		return u, ErrTrimmed, true
	case a.next < d.log.First():
		return u, ErrBehind, true
	case a.next < d.log.Next():
		a.next++
		return d.log.At(a.next - 1), nil, true
	case d.complete:
		return u, io.EOF, true
	}
	return u, nil, false
}

// skip moves a to the first piece that is still kept.
func (d *delivery) skip(a *Attachment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a.next = d.log.First()
}

// delivered notes that a has the whole answer.
func (d *delivery) delivered(a *Attachment, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a.delivered = true
	d.last = now
	if d.count == 0 {
		d.first = now
	}
	d.count++
}

// undelivered takes delivered back.
func (d *delivery) undelivered(a *Attachment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a.delivered = false
	d.count--
}

// setKind notes what the request turned out to be to its chat.
func (d *delivery) setKind(kind string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kind = kind
}

// setPlace notes where the conversation works.
func (d *delivery) setPlace(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.where = dir
}

// place is where the conversation works, once that is known.
func (d *delivery) place() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.where
}

// ignore notes what of the request has no effect.
func (d *delivery) ignore(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ignored = append(d.ignored, name)
}

// notes are what clients are told besides the answer, as far as is known now.
func (d *delivery) notes() (ignored []string, kind string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ignored, d.kind
}

// size is how many bytes of text the log keeps.
func (d *delivery) size() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.Bytes()
}
