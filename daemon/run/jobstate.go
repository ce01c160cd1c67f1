package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/repeat"
)

// life is how far a job has come: it waits for its turn and for a slot,
// opens its conversation, sends the message, and ends. It knows nothing of
// clients.
//
// Each channel is closed once: turn and slot by who hands them out, under the
// manager's mutex, queued before the job runs, the others by the job's own
// goroutine.
type life struct {
	made   time.Time
	ctx    context.Context
	cancel context.CancelCauseFunc
	turn   chan struct{}   // closed when the job is the first of its queue
	slot   <-chan struct{} // closed when a slot is the job's; nil if it was at once. Set before turn is closed
	queued chan struct{}   // closed when the job has to wait in its queue
	opened chan struct{}   // closed when the conversation is open, or the job has ended
	over   chan struct{}   // closed when the job has ended

	// mu guards all below. No other lock is taken under it.
	mu      sync.Mutex
	stopped bool // it was told to end, and takes no new client
	sent    bool // the message is about to be sent, or was
	// admitted is when the job had its slot; zero: not yet.
	admitted time.Time
	usage    turn.Usage // so far
	ended    bool
	endedAt  time.Time
	result   turn.Result
	err      error
}

func newLife(parent context.Context, now time.Time) life {
	ctx, cancel := context.WithCancelCause(parent)
	return life{
		made: now, ctx: ctx, cancel: cancel,
		turn: make(chan struct{}), queued: make(chan struct{}), opened: make(chan struct{}), over: make(chan struct{}),
	}
}

// halt ends the job for a cause: from here on it takes no new client. It reports
// whether there was something left to end.
func (l *life) halt(cause error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.stopped = true
	l.cancel(cause)
	return true
}

// goesOn reports whether the job has not ended and was not told to.
func (l *life) goesOn() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.ended && !l.stopped
}

// isEnding reports whether the job was told to end and has not.
func (l *life) isEnding() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped && !l.ended
}

func (l *life) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// send notes that the message is about to be sent. It is not where the job was
// stopped before: its idempotency key may be in other hands by now.
func (l *life) send() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return context.Cause(l.ctx)
	}
	l.sent = true
	return nil
}

// isSent reports whether the message is about to be sent, or was.
func (l *life) isSent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}

// gaveUp reports whether the job was stopped before it sent anything: nothing of
// it will ever run.
func (l *life) gaveUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped && !l.sent
}

// finish stores the end. Waiting callers learn of it in [life.tell].
func (l *life) finish(res turn.Result, err error, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.result, l.err, l.ended, l.endedAt = res, err, true, now
	if err == nil && res.Outcome != turn.Interrupted {
		l.stopped = false // it came to its end before anybody stopped it
	}
}

// tell wakes who waits for the end, or for the conversation. The end is told first: who
// waits for a conversation that was not opened then finds why.
func (l *life) tell() {
	close(l.over)
	select {
	case <-l.opened:
	default: // it never came so far
		close(l.opened)
	}
}

// end is how the job ended; both are zero while it goes on.
func (l *life) end() (turn.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.result, l.err
}

// failedEarly returns why the job ended before it started anything. It is nil
// while the job may still start something, if it has started something, and
// before [life.tell].
func (l *life) failedEarly() error {
	select {
	case <-l.over:
	default:
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if early, ok := errors.AsType[*earlyError](l.err); ok {
		return early.err
	}
	return nil
}

// wasRefused reports whether the job ended before it started anything, without
// having been stopped. What another gateway may continue was not refused.
func (l *life) wasRefused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return isEarly(l.err) && !l.stopped && !isElsewhere(l.err)
}

// isRemembered reports whether an ended job can answer a repeat at all.
func (l *life) isRemembered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !isEarly(l.err) && !l.stopped
}

// history is what the rules of joining know of the life of a job.
func (l *life) history() repeat.History {
	l.mu.Lock()
	defer l.mu.Unlock()
	failed := l.err != nil || l.result.Outcome == turn.Failed || l.result.Outcome == turn.Stuck
	return repeat.History{Stopped: l.stopped, Ended: l.ended, EndedAt: l.endedAt, Failed: failed}
}

// size is how many bytes of text the end keeps.
func (l *life) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.result.Answer)
	for _, a := range l.result.Waiting {
		n += len(a.Line) + len(a.Detail)
	}
	if l.result.Cause != nil {
		n += len(l.result.Cause.Detail)
	}
	return n
}

// admit notes that the job has its slot.
func (l *life) admit(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.admitted = now
}

// spend notes what the turn took so far.
func (l *life) spend(u turn.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.usage = u
}

// progress is since when the job has its slot (zero: not yet), and what it took
// so far.
func (l *life) progress() (admitted time.Time, usage turn.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.admitted, l.usage
}
