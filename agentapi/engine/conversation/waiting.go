package conversation

import (
	"context"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// keep puts a message on the disk that goes into the log after the step in flight.
func (c *Conversation) keep(d *delivery) error {
	body, _ := masked(c.cfg.Secrets, &event.Message{LLMMessage: message("user", d.content)}).(*event.Message)
	kept := append(slices.Clone(c.kept), store.Waiting{ID: d.id, Content: body.LLMMessage.Content, Sender: d.sender})
	if err := c.dir.SaveWaiting(kept, durable); err != nil {
		return c.storageError(err)
	}
	c.kept, d.kept = kept, true
	return nil
}

// forget takes a message that is in the log from those that wait. Where the list stays
// as it was, the next process finds the message in the log.
func (c *Conversation) forget(d *delivery) {
	if !d.kept {
		return
	}
	c.kept = slices.DeleteFunc(c.kept, func(w store.Waiting) bool { return w.ID == d.id })
	if err := c.dir.SaveWaiting(c.kept, lazily); err != nil {
		c.cfg.Log.Warn("save the messages that wait", "conversation", c.id, "err", err)
	}
}

// loadWaiting takes up the messages that a process has accepted and not written into
// the log before it ended. They go there, and wait for whoever runs the conversation.
func (c *Conversation) loadWaiting() (err error) {
	if c.kept, err = c.dir.Waiting(); err != nil {
		return err
	}
	for _, w := range c.kept {
		c.door.inbox = append(c.door.inbox, &delivery{
			ctx: context.Background(), id: w.ID, content: w.Content, sender: w.Sender, always: true, kept: true, taken: make(chan error, 1),
		})
	}
	return nil
}
