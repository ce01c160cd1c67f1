package conversation

import (
	"context"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/masked"
	"github.com/ohgw/ohgw/agentapi/engine/store"
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

// shelf has the messages that are accepted, and not in the log yet. They are on the disk.
type shelf struct {
	cfg  *Config
	dir  *store.Dir
	list []store.Waiting
}

// keep puts a message on the disk that goes into the log after the step in flight.
func (s *shelf) keep(d *delivery) error {
	body, _ := masked.Body(s.cfg.Secrets, &event.Message{LLMMessage: message("user", d.content)}).(*event.Message)
	list := append(slices.Clone(s.list), store.Waiting{ID: d.id, Content: body.LLMMessage.Content, Sender: d.sender})
	if err := s.dir.SaveWaiting(list, durable); err != nil {
		return err
	}
	s.list, d.kept = list, true
	return nil
}

// drop takes a message that is in the log from those that wait. Where the list stays
// as it was, the next process finds the message in the log.
func (s *shelf) drop(d *delivery) {
	if !d.kept {
		return
	}
	s.list = slices.DeleteFunc(s.list, func(w store.Waiting) bool { return w.ID == d.id })
	if err := s.dir.SaveWaiting(s.list, lazily); err != nil {
		s.cfg.Log.Warn("save the messages that wait", "conversation", s.dir.State.ID, "err", err)
	}
}

// load has receive take the messages that a process has accepted and not written into
// the log before it ended. They go there, and wait for whoever runs the conversation.
func (s *shelf) load(receive func(*delivery)) (err error) {
	if s.list, err = s.dir.Waiting(); err != nil {
		return err
	}
	for _, w := range s.list {
		receive(&delivery{
			ctx: context.Background(), id: w.ID, content: w.Content, sender: w.Sender, always: true, kept: true, taken: make(chan error, 1),
		})
	}
	return nil
}
