package conversation

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/stuck"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Navigate makes an event of the log the one that the next event is appended to;
// "" is the beginning. What was after it stays in the log, and the agent knows
// nothing of it. The error is [store.ErrNoEvent] for an event that is not there,
// and agentapi.ErrBusy while the log grows.
func (c *Conversation) Navigate(ctx context.Context, id string) error {
	return c.door.try(ctx, func() error {
		switch {
		case c.busy():
			return &agentapi.Error{Kind: agentapi.ErrBusy, Msg: "The conversation is running; pause it before you go to another event."}
		case id != "" && !c.dir.Has(id):
			return store.ErrNoEvent
		case id == c.head:
			return nil
		}
		return c.navigate(id)
	})
}

func (c *Conversation) navigate(id string) error {
	if err := c.branch(id); err != nil {
		return c.storageError(err)
	}
	s := &c.dir.State
	s.LeafEventID, s.HeadIsEmpty = id, id == ""
	// The log says where the conversation stands by the last event's parent. So
	// there has to be one, or whoever opens it takes the branch for one that a
	// crash has cut.
	s.Status = c.statusThere()
	if err := errors.Join(c.record(event.KeyStatus, s.Status, durable), c.save(durable)); err != nil {
		return c.storageError(err)
	}
	c.door.watchers.publish(c.snapshot())
	return nil
}

// branch makes the path to an event the branch at hand.
func (c *Conversation) branch(head string) error {
	events, err := c.dir.Branch(head)
	if err != nil {
		return err
	}
	c.head, c.view, c.fitted = head, view.New(render, events), false
	c.hidePictures()
	c.open, c.trace, c.known = nil, stuck.Trace{}, newIDs()
	c.introduced, c.replied, c.tokens, c.condenseAt = false, false, 0, 0
	for _, e := range events {
		c.follow(e)
	}
	c.conceal()
	return nil
}

// statusThere is the status of the branch at hand. Actions without a result that
// were asked about on another one must not run here without a question; others
// have died with their branch.
func (c *Conversation) statusThere() event.Status {
	now := c.dir.State.Status
	switch {
	case now != event.Waiting && now != event.Paused:
		return now
	case len(c.open) > 0 && c.mustAsk(c.open):
		return event.Waiting
	case now == event.Waiting || len(c.open) > 0:
		return event.Idle
	}
	return now
}
