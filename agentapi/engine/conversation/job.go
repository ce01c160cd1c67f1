package conversation

import (
	"context"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/internal/rescue"
)

// job is something that takes time: a call of the model, a batch of tools.
type job struct {
	ctx    context.Context
	cancel context.CancelFunc
	calls  chan func()   // what the conversation's goroutine does meanwhile
	done   chan struct{} // closed when the work is done
	err    error         // of work that broke; read after done
	left   chan struct{} // closed when it waits no longer
}

// post has the conversation's goroutine run f, in order. It does nothing once that is gone.
func (j *job) post(f func()) {
	select {
	case j.calls <- f:
	case <-j.left:
	}
}

// call is post that waits for the end of f; false if the goroutine is gone.
func (j *job) call(f func()) bool {
	ran := make(chan struct{})
	select {
	case j.calls <- func() { defer close(ran); f() }:
		<-ran
		return true
	case <-j.left:
		return false
	}
}

// await runs f in a goroutine of its own and takes commands until f returns. An interrupt
// ends the context of f, and f has a while to obey. If it does not, await returns errLeft,
// and nothing that f makes may be read. A panic of f ends only f. The log is not locked
// meanwhile: others wait 30 seconds for it, and a model may think longer.
func (r *run) await(parent context.Context, f func(*job)) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	j := &job{ctx: ctx, cancel: cancel, calls: make(chan func()), done: make(chan struct{}), left: make(chan struct{})}
	defer close(j.left)
	if r.phase == stopping {
		cancel()
	}
	r.job = j
	defer func() { r.job = nil }()
	r.door.workers.Go(func() {
		defer close(j.done)
		j.err = rescue.Do(func() error { f(j); return nil })
	})
	var grace <-chan time.Time
	for {
		if grace == nil && ctx.Err() != nil {
			timer := time.NewTimer(r.cfg.Grace)
			defer timer.Stop()
			grace = timer.C
		}
		r.lease.rest()
		select {
		case <-j.done:
			if j.err != nil {
				r.cfg.Log.Error("an LLM call or a tool panicked", "conversation", r.branch.id, "err", j.err)
			}
			return j.err
		case told := <-j.calls:
			told()
		case command := <-r.door.commands:
			command()
		case <-r.lease.due():
			r.keepLease()
		case <-grace:
			r.cfg.Log.Error("an LLM call or a tool does not stop", "conversation", r.branch.id)
			return errLeft
		}
	}
}

// errLeft says that work did not stop when it was told to, and goes on alone.
var errLeft = fmt.Errorf("the LLM call or the tool does not stop: %w", context.Canceled)

// keepLease renews the lease. Without it, nothing is written any more.
func (r *run) keepLease() {
	if r.lease.renew() {
		r.stop()
	}
}
