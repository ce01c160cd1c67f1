package run

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
)

// Ends of an attachment whose job no longer keeps what comes next for it. The
// run goes on, and its result can still be had: see [Attachment.Skip].
var (
	// ErrBehind: the client reads too slowly.
	ErrBehind = errors.New("the client reads too slowly")
	// ErrTrimmed: the client came so late that the beginning is gone.
	ErrTrimmed = errors.New("the beginning of the answer is no longer stored")
)

// Attachment is one client's view of a job. Its methods are for one goroutine.
type Attachment struct {
	job       *job
	gone      func() bool // the client has hung up; nil: not known
	replayed  bool
	begins    bool // its request made the job, which follows no other
	next      int  // index of the next update since the job began
	wake      chan struct{}
	took      bool // an answer that was owed
	delivered bool // written with the delivery's mutex
	closed    bool
}

// ConversationID is the conversation that the request runs in.
func (a *Attachment) ConversationID() string { return a.job.id }

// AnswerID names the answer, in 32 hexadecimal digits: one name for every client
// that gets it, also from a record.
func (a *Attachment) AnswerID() string { return a.job.answerID }

// Observer is that of the request which made the job; nil: it has none.
func (a *Attachment) Observer() Observer { return a.job.req.Observer }

// Created is when the run was asked for that gives the answer.
func (a *Attachment) Created() time.Time { return a.job.created }

// Workspace is where the conversation works, as far as is known now; empty if
// it is not.
func (a *Attachment) Workspace() string {
	if dir := a.job.delivery.place(); dir != "" || !a.job.req.Named {
		return dir
	}
	return a.job.req.Workspace
}

// Replayed reports whether an earlier request started the job.
func (a *Attachment) Replayed() bool { return a.replayed }

// What of a request can have no effect on its conversation.
const (
	IgnoredSystem    = "system"    // another system text than that of the conversation
	IgnoredWorkspace = "workspace" // the directory that the client named
)

// Begins reports whether the request begins the run: no other request has, or only one at
// a gateway that died before it sent anything.
func (a *Attachment) Begins() bool { return a.begins }

// Ignored names what of the request has no effect on the conversation, as far
// as is known now: IgnoredSystem, IgnoredWorkspace.
func (a *Attachment) Ignored() []string {
	ignored, _ := a.job.delivery.notes()
	return ignored
}

// Reconciled is what the request is to its chat, as far as is known now; empty
// without a chat.
func (a *Attachment) Reconciled() string {
	_, kind := a.job.delivery.notes()
	return kind
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
		u, err, ok := a.job.delivery.at(a)
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

// Skip goes on after ErrBehind or ErrTrimmed with what is still kept. It is for
// clients that want the result and not the text on the way to it.
func (a *Attachment) Skip() { a.job.delivery.skip(a) }

// Result is how the job ended. Call it after Next has returned io.EOF. The
// error is ErrInterrupted, ErrAbandoned, a *TimeoutError, ErrDraining,
// ErrRecord, or an [agentapi.Error].
func (a *Attachment) Result() (turn.Result, error) {
	res, err := a.job.life.end()
	if early, ok := errors.AsType[*earlyError](err); ok {
		err = early.err
	}
	return res, err
}

// RepeatsUntil is when an identical request would start a new run after this
// failure; zero when it would now, or the job did not fail.
func (a *Attachment) RepeatsUntil() time.Time {
	h := a.job.History()
	if !a.job.life.isRemembered() || !h.Ended || !h.Failed || h.Deliveries == 0 {
		return time.Time{}
	}
	return h.FailureEnds()
}

// Delivered says that the client has the whole answer, or the failure. It is
// called before the last frame is written, because a client may read that and
// ask again before a write returns; [Attachment.Undelivered] takes it back.
func (a *Attachment) Delivered() {
	if a.delivered {
		return
	}
	a.job.delivery.delivered(a, a.job.m.cfg.Now())
	a.job.m.review(a.job)
	if a.job.share != nil {
		a.job.share.delivered()
	}
}

// Undelivered says that the last frame could not be written after all.
func (a *Attachment) Undelivered() {
	if !a.delivered {
		return
	}
	a.job.delivery.undelivered(a)
}

// Close ends the attachment: the client has what it wanted, or is gone. The run
// of a job without clients is interrupted after the grace, unless it is
// detached; at once where another request waits for it.
func (a *Attachment) Close() { a.close(!a.delivered) }

// Forgo closes the attachment for a client that wants something else than this job.
func (a *Attachment) Forgo() { a.close(a.took) }

func (a *Attachment) close(owed bool) {
	if a.closed {
		return
	}
	a.closed = true
	if owed && a.job.share != nil {
		a.job.share.left(false)
	}
	m := a.job.m
	m.mu.Lock()
	defer m.mu.Unlock()
	a.job.lose(a, owed, m.awaited(a.job))
	m.settle(a.job)
}

// Opened waits for the conversation of a request that continues one, not
// longer than openWait or, for a copy, forkWait. Its error is why the job failed before it started
// anything.
func (a *Attachment) Opened(ctx context.Context) error {
	if a.replayed || a.job.req.ConversationID == "" {
		return nil
	}
	limit := openWait
	if a.job.req.From != "" {
		limit = forkWait
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-a.job.life.opened:
	case <-a.job.life.queued:
	case <-timer.C:
	case <-ctx.Done():
	}
	return a.job.life.failedEarly()
}
