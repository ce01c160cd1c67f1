package conversation

import (
	"context"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// keep puts a message on the disk that goes into the log after the step in flight.
func (b *branch) keep(d *delivery) error {
	body, _ := masked(b.cfg.Secrets, &event.Message{LLMMessage: message("user", d.content)}).(*event.Message)
	kept := append(slices.Clone(b.kept), store.Waiting{ID: d.id, Content: body.LLMMessage.Content, Sender: d.sender})
	if err := b.dir.SaveWaiting(kept, durable); err != nil {
		return b.storageError(err)
	}
	b.kept, d.kept = kept, true
	return nil
}

// forget takes a message that is in the log from those that wait. Where the list stays
// as it was, the next process finds the message in the log.
func (b *branch) forget(d *delivery) {
	if !d.kept {
		return
	}
	b.kept = slices.DeleteFunc(b.kept, func(w store.Waiting) bool { return w.ID == d.id })
	if err := b.dir.SaveWaiting(b.kept, lazily); err != nil {
		b.cfg.Log.Warn("save the messages that wait", "conversation", b.id, "err", err)
	}
}

// loadWaiting takes up the messages that a process has accepted and not written into
// the log before it ended. They go there, and wait for whoever runs the conversation.
func (b *branch) loadWaiting() (err error) {
	if b.kept, err = b.dir.Waiting(); err != nil {
		return err
	}
	for _, w := range b.kept {
		b.door.inbox = append(b.door.inbox, &delivery{
			ctx: context.Background(), id: w.ID, content: w.Content, sender: w.Sender, always: true, kept: true, taken: make(chan error, 1),
		})
	}
	return nil
}
