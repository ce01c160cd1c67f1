package conversation

import (
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/rescue"
)

// serve runs the conversation's goroutine, the only one that changes it, until the
// door closes. Then it ends the session and the streams, and starts to close the
// tools.
func (c *Conversation) serve() {
	stop := c.lease.hold()
	defer stop()
	for c.door.life == alive {
		c.guard(c.turn)
	}
	if c.door.ended != errRemoved && c.door.life < broken {
		c.guard(c.pursuit.leave)
	}
	if c.door.life < broken { // also of a conversation that is about to be deleted
		c.guard(c.run.endSession)
	}
	if c.door.ended != errRemoved && c.door.life < broken && c.branch.unsettled {
		c.guard(c.branch.settled)
	}
	c.door.shut()
	if c.door.life == broken { // who hears of the end of the run finds the conversation closed
		_ = rescue.Do(func() error { c.live.send(c.branch.snapshot()); return nil })
	}
	c.live.end(c.door.closed())
	tools := c.agent.tools
	c.door.closers.Go(func() { // the goroutine does not wait for them: the directory is free
		if err := rescue.Do(tools.Close); err != nil {
			c.cfg.Log.Warn("close tools", "conversation", c.branch.id, "err", err)
		}
	})
}

// turn does what has been asked for, and then the next thing that comes.
func (c *Conversation) turn() {
	c.work()
	c.lease.rest()
	if c.door.life != alive {
		return
	}
	select {
	case command := <-c.door.commands:
		command()
	case <-c.lease.due():
		c.run.keepLease()
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
	c.door.breakDown()
	if c.branch.dir.State.Status == event.Running && c.door.lost == nil {
		if err := rescue.Do(func() error { c.run.failed(broke); return c.branch.save(lazily) }); err != nil {
			c.cfg.Log.Error("save conversation", "conversation", c.branch.id, "err", err)
			c.branch.failUnstored(broke)
		}
	}
}

// work does what has been asked for: messages first, in their order.
func (c *Conversation) work() {
	for c.door.life == alive {
		switch {
		case len(c.door.inbox) > 0:
			if c.takeMessage() {
				c.run.toEnd()
				c.cfg.RunEnded()
			}
		case c.door.wanted:
			c.run.beginWork()
			c.run.toEnd()
			c.cfg.RunEnded()
		case len(c.door.shortenings) > 0:
			c.takeShortening()
			c.cfg.RunEnded()
		case len(c.door.errands) > 0:
			errand := c.door.nextErrand()
			c.run.beginWork()
			errand()
		case c.pursuit.goal != nil && c.branch.dir.State.Status != event.Waiting:
			c.pursuit.advance()
			c.cfg.RunEnded()
		default:
			return
		}
	}
}

// takeMessage takes the next message into the log and reports whether a run has to
// follow.
func (c *Conversation) takeMessage() bool {
	d := c.door.next()
	if d.ctx.Err() != nil {
		d.taken <- d.ctx.Err()
		return false
	}
	err := c.door.admit(d, c.run.accept)
	if err == nil && !d.run {
		err = c.branch.storageError(c.branch.save(lazily))
		c.branch.settleSoon()
	}
	_, refused := c.branch.dir.State.BlockedMessages[c.branch.dir.State.LastUserMessageID]
	if err == nil && d.goal != nil && !refused { // what a hook refuses has no goal
		err = c.pursuit.begin(d.goal)
	}
	d.taken <- err
	return err == nil && d.run
}
