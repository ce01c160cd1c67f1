package turn

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// errNotFenced is for a caller that needs more than the backend can do.
var errNotFenced = &agentapi.Error{
	Kind: agentapi.ErrUnsupported,
	Msg:  "This backend takes a message and starts its run in one call, so several gateways cannot share it. Use an agent-server.",
}

// sender is the call that sends the message and starts its run.
func sender(c agentapi.Conversation, in Input) (func(context.Context) error, error) {
	if in.Fence == nil {
		return func(ctx context.Context) error { return c.Send(ctx, in.Message) }, nil
	}
	f, ok := c.(agentapi.Fenced)
	if !ok {
		return nil, errNotFenced
	}
	start := in.fenced(c, f.Start)
	return func(ctx context.Context) error {
		if err := f.Append(ctx, in.Message); err != nil {
			return err
		}
		return start(ctx)
	}, nil
}

// fenced is start with the fence before it, and the look at what it may have started.
func (in Input) fenced(c agentapi.Conversation, start func(context.Context) error) func(context.Context) error {
	if in.Fence == nil {
		return start
	}
	return func(ctx context.Context) error {
		if err := in.Fence(ctx); err != nil {
			return err
		}
		err := start(ctx)
		if in.Started == nil {
			return err
		}
		// To its end, also where the turn is over meanwhile: it may have to stop a run.
		if late := in.Started(context.WithoutCancel(ctx), c.Interrupt); late != nil {
			return &lateError{late} // whatever start said
		}
		return err
	}
}

// lateError says that a run was not its turn's any more when it was started: nothing
// that the turn has read is its own.
type lateError struct{ err error }

func (e *lateError) Error() string { return e.err.Error() }
func (e *lateError) Unwrap() error { return e.err }

// Resume goes on with a turn whose first driver is gone, from wherever that left
// it: it sends the message if it is not in the log after b, starts the run if that
// never began, and follows a run that goes on or is over. The Fence of the input is
// required, Ready is not called, and a decision is not sent again. Ending ctx
// interrupts the run. ErrNoTurn says that the run ended without an answer: it was
// stopped, or its server was.
func Resume(ctx context.Context, c agentapi.Conversation, b Baseline, in Input) (Result, error) {
	f, ok := c.(agentapi.Fenced)
	if !ok {
		return Result{}, errNotFenced
	}
	stream, err := c.Watch(ctx, b.After)
	if err != nil {
		return Result{}, err
	}
	defer stream.Close()
	d := driver{conv: c, stream: stream, reader: NewReader(&b), emit: in.Emit, spent: in.Spent, over: in.Over}
	d.reader.Details(in.Details)
	own, err := d.replay(ctx)
	if err != nil || d.reader.Done() {
		return d.reader.Result(), err
	}
	began, status := d.reader.Began(), d.reader.Status()
	switch {
	case status == event.Running && !began:
		return Result{}, &agentapi.Error{Kind: agentapi.ErrBusy, Msg: "The conversation is running a request of another client; wait until that is done."}
	case status == event.Running:
		d.start = func(context.Context) error { return nil }
	case !began:
		if d.start, err = sender(c, in); err != nil {
			return Result{}, err
		}
	case status == event.Finished:
		d.reader.conclude() // a log need not hold what the status was
		return d.reader.Result(), nil
	case status == event.Idle && !own:
		d.start = in.fenced(c, f.Start)
	default:
		return d.reader.Result(), ErrNoTurn
	}
	return d.run(ctx)
}

// replay reads what the log has of the turn, up to the snapshot that follows it. own
// reports whether the agent has done something in it.
func (d *driver) replay(ctx context.Context) (own bool, err error) {
	for snapshots := 0; snapshots < 2; {
		e, err := d.stream.Next(ctx)
		if err != nil {
			return own, err
		}
		_, full, _ := e.FullState()
		if full {
			snapshots++
		}
		if full && snapshots == 1 {
			continue // how things are now, before what led to it
		}
		began := d.reader.Began()
		updates, err := d.reader.Add(e)
		if err != nil {
			return own, unreadable(err)
		}
		_, partial := e.Body.(*event.StateUpdate)
		own = own || began && !partial && e.Source != event.SourceUser
		for _, u := range updates {
			d.emit(u)
		}
	}
	if s := d.reader.Status(); (s == event.Idle || s == event.Paused) && d.reader.answered() {
		// A message that a slow gateway has sent again, or its interrupt, changes the status
		// of a conversation whose turn is over.
		d.reader.conclude()
	}
	return own, nil
}

// unreadable is for an event that makes no sense.
func unreadable(err error) error {
	return &agentapi.Error{Kind: agentapi.ErrLost, Msg: "The backend sent an event that cannot be read.", Err: err}
}
