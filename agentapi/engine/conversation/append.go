package conversation

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Append takes a message of the user into the log. With run, a run follows. If a run is
// active, that run answers, and the message follows its step in flight.
//
// Unlike with Send, actions may wait for confirmation: with run they are accepted, without
// it they keep waiting. A message that came in before the run ended in a question, a pause
// or an interrupt is taken and not answered: it neither approves actions that the user had
// not been asked about yet, nor starts again what was stopped.
//
// During a step, which can take an hour, Append returns when the message is on the disk
// beside the log. An accepted message stays accepted, whether or not its client waits.
func (c *Conversation) Append(ctx context.Context, content []event.Content, sender string, run bool) error {
	// The goroutine of the conversation always listens, so this does not wait long.
	inside := context.WithoutCancel(ctx)
	d := &delivery{ctx: inside, id: c.cfg.NewID(), content: content, sender: sender, run: run, always: true, taken: make(chan error, 1)}
	err := c.door.try(inside, func() error {
		c.pursuit.leave()
		if c.run.job != nil {
			if err := c.shelf.keep(d); err != nil {
				return c.branch.storageError(err)
			}
		}
		c.door.receive(d)
		return nil
	})
	if err != nil || d.kept {
		return err
	}
	select {
	case err := <-d.taken:
		return err
	case <-ctx.Done():
		return ctx.Err() // it is taken all the same
	case <-c.door.gone:
		return c.door.closed()
	}
}
