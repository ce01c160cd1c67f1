package turn

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// errOccupied is for a run that this turn did not start and that did not end
// when it was interrupted: nothing of this turn was started.
var errOccupied = &agentapi.Error{
	Kind: agentapi.ErrBusy,
	Msg:  "An earlier run of the conversation did not stop when it was interrupted. Wait until it has ended, then send the message again.",
}

// errOthers is for a run of another client, where this turn does not wait for its end.
var errOthers = &agentapi.Error{
	Kind: agentapi.ErrBusy,
	Msg:  "The conversation is running a request of another client; wait until that is done.",
}

// free reads the stream up to a state in which the conversation has no run,
// and gives a reader of what follows and whether it had to wait. What another
// run does meanwhile belongs to no turn of ours, messages of the user included.
func free(ctx context.Context, c agentapi.Conversation, stream agentapi.Stream, busy func() bool) (r *Reader, waited bool, err error) {
	r, err = snapshot(ctx, stream)
	if err != nil || r.Status() != event.Running {
		return r, false, err
	}
	if busy == nil {
		return nil, false, errOthers
	}
	limited := ctx
	if busy() {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, stopTimeout, errOccupied)
		defer cancel()
		if err := c.Interrupt(limited); err != nil {
			return nil, true, occupied(ctx, limited, err)
		}
	}
	for r.Status() == event.Running {
		if r, err = snapshot(limited, stream); err != nil {
			return nil, true, occupied(ctx, limited, err)
		}
	}
	return r, true, nil
}

// occupied returns err, or the error of a run that did not stop in time.
func occupied(ctx, limited context.Context, err error) error {
	if ctx.Err() == nil && limited.Err() != nil {
		return context.Cause(limited)
	}
	return err
}

// snapshot is a reader that begins with the next full state.
func snapshot(ctx context.Context, stream agentapi.Stream) (*Reader, error) {
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			return nil, err
		}
		r := NewReader(nil)
		if !e.IsFullState() {
			continue
		}
		_, err = r.Add(e)
		return r, err
	}
}
