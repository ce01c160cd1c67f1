package conversation

import (
	"context"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi"
)

// Close interrupts a run, ends the tools and lets the directory go.
func (c *Conversation) Close() error {
	return c.end(errClosed, c.lease.close)
}

// CloseForChange closes the conversation like Close, for a directory that is changed and
// then opened again. Its handles and streams end with control.ErrReopened.
func (c *Conversation) CloseForChange() error {
	return c.end(errReopened, c.lease.close)
}

// Remove does what Close does, and deletes the directory.
func (c *Conversation) Remove() error {
	return c.end(errRemoved, c.lease.remove)
}

// end ends the goroutine and its workers. It waits for each of them for the grace of the
// configuration and a little more: a tool or a disk that does not obey keeps what it holds,
// and no other caller waits for it. why is the error that users of the conversation get.
func (c *Conversation) end(why *agentapi.Error, last func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.cfg.Grace+endWait)
	defer cancel()
	// Otherwise only a lost lease or a panic ends the goroutine, which is fine too.
	_ = c.door.try(ctx, func() error {
		c.door.closeFor(why)
		c.run.stop()
		return nil
	})
	if !ends(ctx, c.door.serving.Wait) {
		go func() { // the directory is the goroutine's until it has ended
			c.door.serving.Wait()
			if err := last(); err != nil {
				c.cfg.Log.Warn("close conversation", "conversation", c.branch.id, "err", err)
			}
		}()
		return fmt.Errorf("conversation %s does not end: it is waiting for the disk or for a tool", c.branch.id)
	}
	ctx, cancel = context.WithTimeout(context.Background(), c.cfg.Grace+endWait)
	defer cancel()
	if !ends(ctx, c.door.workers.Wait) {
		c.cfg.Log.Error("an LLM call or a tool did not stop and was abandoned", "conversation", c.branch.id)
	}
	if !ends(ctx, c.door.closers.Wait) { // on a busy machine a shell may need longer
		c.cfg.Log.Warn("the conversation's tools are still being closed", "conversation", c.branch.id)
	}
	return last()
}

// endWait is how long the end of a conversation may take beyond the grace of
// what it interrupts.
const endWait = 2 * time.Second

// ends has wait wait until ctx ends, and reports whether it is done.
func ends(ctx context.Context, wait func()) bool {
	over := make(chan struct{})
	go func() {
		wait()
		close(over)
	}()
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// Ended reports whether the conversation has ended by itself: another process
// has taken it, or it broke. It can be closed, and opened again.
func (c *Conversation) Ended() bool { return c.door.over() }
