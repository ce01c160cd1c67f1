package cloud

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Watch opens a stream, and wakes the sandbox for it.
func (c *conversation) Watch(ctx context.Context, after string) (agentapi.Stream, error) {
	var s agentapi.Stream
	err := c.awake(ctx, func(conv agentapi.Conversation) (err error) {
		s, err = conv.Watch(ctx, after)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &stream{Stream: s, c: c}, nil
}

// stream is a watch that says what became of the sandbox when it is lost.
type stream struct {
	agentapi.Stream

	c *conversation
}

// Next waits for the next event.
func (s *stream) Next(ctx context.Context) (event.Event, error) {
	e, err := s.Stream.Next(ctx)
	if err != nil && ctx.Err() == nil {
		err = s.c.lost(ctx, err)
	}
	return e, err
}

// lookTimeout bounds the request that asks what became of a sandbox. It is short because
// a caller waits for the answer, and has an error to report already.
const lookTimeout = 3 * time.Second

// lost explains the error of a stream by the state of the sandbox, which it asks the
// account for.
func (c *conversation) lost(ctx context.Context, err error) error {
	gone := errors.Is(err, agentapi.ErrLost)
	if !gone && !moved(err) {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	known, found, lookErr := c.b.look(limited, c.info.ID)
	switch {
	case lookErr == nil && !found:
		return conversationNotFound(c.info.ID, err)
	case !gone:
		return c.b.told(err)
	case lookErr != nil:
		return lostTo(err, "The connection to the sandbox was lost while the agent was working, and "+c.b.account.URL()+" does not answer either. The conversation is kept there: send a new message to continue.")
	}
	switch known.State {
	case account.StateAsleep, account.StateStarting:
		return lostTo(err, "The sandbox was put to sleep while the agent was working. The conversation is kept: it wakes with the next message.")
	case account.StateArchived:
		return lostTo(err, "The sandbox was deleted while the agent was working, and its files with it. Start a new conversation.")
	case account.StateError:
		return lostTo(err, "The sandbox failed while the agent was working. Start a new conversation if it does not come back.")
	case account.StateRunning, account.StateUnknown:
	}
	return lostTo(err, "The connection to the sandbox was lost while the agent was working. The conversation is kept: send a new message to continue.")
}

func lostTo(err error, msg string) error {
	return &agentapi.Error{Kind: agentapi.ErrLost, Msg: msg, Err: err}
}
