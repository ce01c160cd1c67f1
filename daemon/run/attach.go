package run

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
)

// Ends of an attachment whose job no longer keeps what comes next for it. The
// run goes on, and its result can still be had: see [Attachment.Skip].
var (
	// ErrBehind: the client reads too slowly.
	ErrBehind = errors.New("the client reads too slowly")
	// ErrTrimmed: the client came so late that the beginning is gone.
	ErrTrimmed = errors.New("the beginning of the answer is not kept any more")
)

// Attachment is one client's view of a job. Its methods are for one goroutine.
type Attachment struct {
	job       *job
	replayed  bool
	next      int // index of the next update since the job began
	wake      chan struct{}
	took      bool // an answer that was owed
	delivered bool
	closed    bool
}

// attach adds the client that made the job.
func (j *job) attach() *Attachment { return j.add(&Attachment{job: j}) }

// join adds a client that repeats an earlier one. A marked repeat comes back for
// a client that may not have been missed yet. One that wants the run to go on
// without it is heard, whatever the earlier one wanted.
func (j *job) join(req Request) *Attachment {
	a := j.add(&Attachment{job: j, replayed: true})
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.owed > 0 || len(j.clients) > 1 && (req.Retry || req.IdempotencyKey != "") {
		j.owed--
		a.took = true
	}
	j.detached = j.detached || req.Detach
	return a
}

// add attaches a client. A grace that was running is over: somebody is there.
func (j *job) add(a *Attachment) *Attachment {
	a.wake = make(chan struct{}, 1)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.clients[a] = struct{}{}
	if j.grace != nil {
		j.grace.Stop()
		j.grace = nil
	}
	return a
}

// ConversationID is the conversation that the request runs in.
func (a *Attachment) ConversationID() string { return a.job.id }

// AnswerID names the answer, in 32 hexadecimal digits: one name for every client
// that gets it, also from a record.
func (a *Attachment) AnswerID() string { return a.job.answerID }

// Created is when the run was asked for that gives the answer.
func (a *Attachment) Created() time.Time { return a.job.created }

// Replayed tells whether an earlier request started the job.
func (a *Attachment) Replayed() bool { return a.replayed }

// Ignored names what of the request has no effect on the conversation, as far
// as is known now: "system".
func (a *Attachment) Ignored() []string {
	a.job.mu.Lock()
	defer a.job.mu.Unlock()
	return a.job.ignored
}

// Reconciled is what the request is to its chat, as far as is known now; empty
// without a chat.
func (a *Attachment) Reconciled() string {
	a.job.mu.Lock()
	defer a.job.mu.Unlock()
	if a.job.req.Chat == nil || a.job.kind != "" {
		return a.job.kind
	}
	return a.job.req.Chat.Planned()
}

// Queue is how many jobs must end before this one may run; 0 once it runs.
func (a *Attachment) Queue() int {
	a.job.m.mu.Lock()
	defer a.job.m.mu.Unlock()
	return a.job.m.place(a.job)
}

// Next waits for the next update. The error is io.EOF when the job has ended,
// ErrBehind, ErrTrimmed, or ctx's.
func (a *Attachment) Next(ctx context.Context) (turn.Update, error) {
	for {
		u, err, ok := a.job.at(a)
		if ok {
			return u, err
		}
		select {
		case <-a.wake:
		case <-ctx.Done():
			return turn.Update{}, ctx.Err()
		}
	}
}

// at takes the next update of a from the log; ok is false when there is none yet.
func (j *job) at(a *Attachment) (u turn.Update, err error, ok bool) { //nolint:revive // the error is one of the values, not a failure
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case a.next < j.log.first && a.replayed && a.next == 0:
		return u, ErrTrimmed, true
	case a.next < j.log.first:
		return u, ErrBehind, true
	case a.next < j.log.next:
		a.next++
		return j.log.at(a.next - 1), nil, true
	case j.ended:
		return u, io.EOF, true
	}
	return u, nil, false
}

// Skip goes on after ErrBehind or ErrTrimmed with what is still kept. It is for
// clients that want the result and not the text on the way to it.
func (a *Attachment) Skip() {
	a.job.mu.Lock()
	defer a.job.mu.Unlock()
	a.next = a.job.log.first
}

// Result is how the job ended. Call it after Next has returned io.EOF. The
// error is ErrInterrupted, ErrAbandoned, a *TimeoutError, ErrDraining,
// ErrRecord, or an [agentapi.Error].
func (a *Attachment) Result() (turn.Result, error) {
	a.job.mu.Lock()
	defer a.job.mu.Unlock()
	if early, ok := errors.AsType[*earlyError](a.job.err); ok {
		return a.job.result, early.err
	}
	return a.job.result, a.job.err
}

// RepeatsUntil is when an identical request would start a new run after this
// failure; zero when it would now, or the job did not fail.
func (a *Attachment) RepeatsUntil() time.Time {
	h := a.job.history()
	if !a.job.remembered() || !h.ended || !h.failed || h.deliveries == 0 {
		return time.Time{}
	}
	return h.failureEnds()
}

// Delivered says that the client has the whole answer, or the failure. It is
// called before the last frame is written, because a client may read that and
// ask again before a write returns; [Attachment.Undelivered] takes it back.
func (a *Attachment) Delivered() {
	if a.delivered {
		return
	}
	a.delivered = true
	j := a.job
	j.mu.Lock()
	j.lastDel = j.m.cfg.Now()
	if j.delivers == 0 {
		j.firstDel = j.lastDel
	}
	j.delivers++
	j.mu.Unlock()
	j.m.review(j)
}

// Undelivered says that the last frame could not be written after all.
func (a *Attachment) Undelivered() {
	if !a.delivered {
		return
	}
	a.delivered = false
	a.job.mu.Lock()
	defer a.job.mu.Unlock()
	a.job.delivers--
}

// Close says that the client has what it wanted, or is gone. The run of a job
// without clients is interrupted after the grace, unless it is detached; at
// once where somebody waits for it.
func (a *Attachment) Close() { a.close(!a.delivered) }

// Forgo is Close for a client that wants something else than this job.
func (a *Attachment) Forgo() { a.close(a.took) }

func (a *Attachment) close(owed bool) {
	if a.closed {
		return
	}
	a.closed = true
	j := a.job
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	awaited := j.m.awaited(j)
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.clients, a)
	if owed {
		j.owed++
	}
	j.owed = max(j.owed, -len(j.clients))
	switch {
	case !j.left():
	case awaited:
		j.halt(ErrAbandoned)
	default:
		j.grace = time.AfterFunc(j.m.cfg.Grace, func() { j.m.cfg.guard(j.id, j.supersede) })
	}
}

// supersede interrupts the job if no client is attached to it.
func (j *job) supersede() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.left() {
		j.halt(ErrAbandoned)
	}
}

// left tells whether the job runs on for nobody. The caller holds j.mu.
func (j *job) left() bool { return len(j.clients) == 0 && !j.ended && !j.stopped && !j.detached }

// halt ends the job for a cause. From here on it takes no new client. The
// caller holds j.mu.
func (j *job) halt(cause error) {
	j.stopped = true
	j.cancel(cause)
}

// publish adds an update to the log and wakes the clients.
func (j *job) publish(u turn.Update) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.log.add(u)
	j.wake()
}

// wake lets every client look again. The caller holds j.mu.
func (j *job) wake() {
	for a := range j.clients {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
}
