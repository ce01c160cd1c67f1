package conversation

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Navigate makes an event of the log the one that the next event is appended to;
// "" is the beginning. What was after it stays in the log, and the agent knows
// nothing of it. The error is [store.ErrNoEvent] for an event that is not there,
// and agentapi.ErrBusy while the log grows.
func (c *Conversation) Navigate(ctx context.Context, id string) error {
	return c.door.try(ctx, func() error {
		switch {
		case c.pursuit.busy():
			return &agentapi.Error{Kind: agentapi.ErrBusy, Msg: "The conversation is running; pause it before you go to another event."}
		case id != "" && !c.branch.dir.Has(id):
			return store.ErrNoEvent
		case id == c.branch.head:
			return nil
		}
		return c.branch.navigate(id)
	})
}

func (b *branch) navigate(id string) error {
	if err := b.goTo(id); err != nil {
		return b.storageError(err)
	}
	s := &b.dir.State
	s.LeafEventID, s.HeadIsEmpty = id, id == ""
	// The log says where the conversation stands by the last event's parent. So
	// there has to be one, or whoever opens it takes the branch for one that a
	// crash has cut.
	s.Status = b.statusThere()
	if err := errors.Join(b.record(event.KeyStatus, s.Status, durable), b.save(durable)); err != nil {
		return b.storageError(err)
	}
	b.live.send(b.snapshot())
	return nil
}

// statusThere is the status of the branch at hand. Actions without a result that
// were asked about on another one must not run here without a question; others
// have died with their branch.
func (b *branch) statusThere() event.Status {
	now := b.dir.State.Status
	switch {
	case now != event.Waiting && now != event.Paused:
		return now
	case len(b.open) > 0 && mustAsk(b.dir.State, b.open):
		return event.Waiting
	case now == event.Waiting || len(b.open) > 0:
		return event.Idle
	}
	return now
}
