package conversation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/rescue"
)

// serve is the conversation's goroutine: the only one that changes it.
func (c *Conversation) serve() {
	c.lease, c.branch.settle = time.NewTicker(store.LeaseRenewal), time.NewTimer(0)
	defer c.lease.Stop()
	c.branch.settle.Stop()
	for !c.door.closing {
		c.guard(c.turn)
	}
	if c.door.ended != errRemoved && !c.door.broken && c.goal != nil {
		c.guard(c.leaveGoal)
	}
	if c.door.ended != errRemoved && !c.door.broken {
		c.guard(c.endSession)
	}
	if c.door.ended != errRemoved && !c.door.broken && c.branch.unsettled {
		c.guard(c.branch.settled)
	}
	c.door.shut()
	if c.door.broken { // who hears of the end of the run finds the conversation closed
		_ = rescue.Do(func() error { c.door.watchers.publish(c.branch.snapshot()); return nil })
	}
	c.door.watchers.end(c.door.closed())
	tools := c.agent.tools
	c.door.closers.Go(func() { // the goroutine does not wait for them: the directory is free
		if err := rescue.Do(tools.close); err != nil {
			c.cfg.Log.Warn("close tools", "conversation", c.branch.id, "err", err)
		}
	})
}

// turn does what has been asked for, and then the next thing that comes.
func (c *Conversation) turn() {
	c.work()
	c.branch.dir.Rest()
	if c.door.closing {
		return
	}
	select {
	case command := <-c.door.commands:
		command()
	case <-c.lease.C:
		c.keepLease()
	case <-c.branch.settle.C:
		c.branch.settled()
	}
}

// guard runs f. A panic in it ends the run and the conversation, not the
// process: the conversation is opened again from what is on the disk.
func (c *Conversation) guard(f func()) {
	broke := rescue.Do(func() error { f(); return nil })
	if broke == nil {
		return
	}
	c.cfg.Log.Error("a conversation panicked and was closed", "conversation", c.branch.id, "err", broke)
	c.door.broken, c.door.closing = true, true
	if c.branch.dir.State.Status == event.Running && c.door.lost == nil {
		if err := rescue.Do(func() error { c.failed(broke); return c.branch.save(lazily) }); err != nil {
			c.cfg.Log.Error("save conversation", "conversation", c.branch.id, "err", err)
			c.branch.dir.State.Status = event.Failed
			c.door.watchers.publish(c.branch.unstored(event.SourceEnvironment, masked(c.cfg.Secrets, conversationError(broke))))
		}
	}
}

// work does what has been asked for: messages first, in their order.
func (c *Conversation) work() {
	for !c.door.closing {
		switch {
		case len(c.door.inbox) > 0:
			if c.takeMessage() {
				c.run()
				c.cfg.RunEnded()
			}
		case c.door.wanted:
			c.door.wanted, c.stopping = false, false
			c.run()
			c.cfg.RunEnded()
		case len(c.door.shortenings) > 0:
			c.takeShortening()
			c.cfg.RunEnded()
		case len(c.door.errands) > 0:
			errand := c.door.errands[0]
			c.door.errands = c.door.errands[1:]
			c.stopping = false
			errand()
		case c.goal != nil && c.branch.dir.State.Status != event.Waiting:
			c.pursue()
			c.cfg.RunEnded()
		default:
			return
		}
	}
}

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

// await does f in a goroutine of its own and takes commands until it is done.
// When somebody interrupts, the context of f ends, and f has a while to obey.
// If it does not, await returns errLeft, and nothing that f makes may be read.
// An f that panics has broken, and nothing else with it. The log is not locked
// meanwhile: others wait 30 seconds for it, and a model may think longer.
func (c *Conversation) await(parent context.Context, f func(*job)) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	j := &job{ctx: ctx, cancel: cancel, calls: make(chan func()), done: make(chan struct{}), left: make(chan struct{})}
	defer close(j.left)
	if c.stopping {
		cancel()
	}
	c.job = j
	defer func() { c.job = nil }()
	c.door.workers.Go(func() {
		defer close(j.done)
		j.err = rescue.Do(func() error { f(j); return nil })
	})
	var grace <-chan time.Time
	for {
		if grace == nil && ctx.Err() != nil {
			timer := time.NewTimer(c.cfg.Grace)
			defer timer.Stop()
			grace = timer.C
		}
		c.branch.dir.Rest()
		select {
		case <-j.done:
			if j.err != nil {
				c.cfg.Log.Error("an LLM call or a tool panicked", "conversation", c.branch.id, "err", j.err)
			}
			return j.err
		case told := <-j.calls:
			told()
		case command := <-c.door.commands:
			command()
		case <-c.lease.C:
			c.keepLease()
		case <-grace:
			c.cfg.Log.Error("an LLM call or a tool does not stop", "conversation", c.branch.id)
			return errLeft
		}
	}
}

// errLeft says that work did not stop when it was told to, and goes on alone.
var errLeft = fmt.Errorf("the LLM call or the tool does not stop: %w", context.Canceled)

// stop interrupts the run.
func (c *Conversation) stop() {
	c.stopping = true
	if c.job != nil {
		c.job.cancel()
	}
}

// keepLease renews the lease. When somebody else has taken the conversation,
// nothing more is written to it.
func (c *Conversation) keepLease() {
	err := c.branch.dir.KeepLease()
	if err == nil {
		return
	}
	if _, held := errors.AsType[*store.HeldError](err); !held {
		c.cfg.Log.Warn("renew lease", "conversation", c.branch.id, "err", err)
		return
	}
	c.door.lost, c.door.closing = err, true
	c.stop()
}

// takeMessage takes the next message into the log and reports whether a run has to
// follow.
func (c *Conversation) takeMessage() bool {
	d := c.door.next()
	if d.ctx.Err() != nil {
		d.taken <- d.ctx.Err()
		return false
	}
	c.stopping, c.door.taking = false, d
	err := c.accept(d)
	c.door.taking = nil
	if err == nil && !d.run {
		err = c.branch.storageError(c.branch.save(lazily))
		c.branch.settle.Reset(settleAfter)
	}
	d.taken <- err
	return err == nil && d.run
}

// accept puts a message of the user into the log, between two runs.
func (c *Conversation) accept(d *delivery) error {
	if err := c.branch.catchUp(); err != nil {
		return c.branch.storageError(err)
	}
	if c.branch.dir.State.Status == event.Waiting && !d.always {
		return errUndecided
	}
	if d.run || !c.branch.introduced || c.cfg.Hooks.Any(hookfile.UserPromptSubmit, "") {
		if err := c.ready(d.ctx); err != nil {
			return err
		}
	}
	if c.stopping {
		return &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The conversation was interrupted before it accepted the message; send the message again."}
	}
	if err := c.branch.answerOpen(); err != nil {
		return c.branch.storageError(err)
	}
	if err := errors.Join(c.agent.introduce(), c.beginSession()); err != nil {
		return c.branch.storageError(err)
	}
	if err := c.tooLarge(d); err != nil {
		return err
	}
	return c.branch.storageError(c.take(d))
}

var errUndecided = &agentapi.Error{
	Kind: agentapi.ErrRefused,
	Msg:  "Actions of this conversation wait for a decision; accept or reject them first.",
}
