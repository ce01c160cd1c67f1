package turn

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
)

var (
	// errNotFenced is for a caller that needs more than the backend can do.
	errNotFenced = &agentapi.Error{
		Kind: agentapi.ErrUnsupported,
		Msg:  "This backend takes a message and starts its run in one call, so several gateways cannot share it. Use an agent-server.",
	}
	// errGoalFenced is for a goal whose rounds the fence does not see.
	errGoalFenced = &agentapi.Error{
		Kind: agentapi.ErrUnsupported, Err: agentapi.ErrNoGoals,
		Msg: "A gateway that shares its runs with others cannot pursue goals. Leave the goal out.",
	}
)

// fenceable refuses a turn with a Fence that cannot have one.
func fenceable(c agentapi.Conversation, in *Input) error {
	if in.Fence == nil {
		return nil
	}
	if in.Goal != nil {
		return errGoalFenced
	}
	if _, ok := c.(agentapi.Fenced); !ok {
		return errNotFenced
	}
	return nil
}

// sender makes the call that sends the message and starts its run.
func sender(c agentapi.Conversation, in *Input) func(context.Context) error {
	m := in.Message
	if f, ok := c.(agentapi.Fenced); ok && in.Fence != nil {
		start := fenced(c, in, f.Start)
		return func(ctx context.Context) error {
			if err := f.Append(ctx, m); err != nil {
				return err
			}
			return start(ctx)
		}
	}
	if pursuer, ok := c.(agentapi.Pursuer); ok && in.Goal != nil {
		goal := *in.Goal
		return func(ctx context.Context) error { return pursuer.Pursue(ctx, m, goal) }
	}
	return func(ctx context.Context) error { return c.Send(ctx, m) }
}

// fenced adds to start the fence before it, and the look at what it may have started.
func fenced(c agentapi.Conversation, in *Input, start func(context.Context) error) func(context.Context) error {
	if in.Fence == nil {
		return start
	}
	f := fence{ask: in.Fence, look: in.Started, interrupt: c.Interrupt}
	return func(ctx context.Context) error {
		if err := f.holds(ctx); err != nil {
			return err
		}
		err := start(ctx)
		full, ok := errors.AsType[*agentapi.FullError](err)
		if !ok {
			return f.passed(ctx, err)
		}
		return &agentapi.FullError{Stored: full.Stored, Err: full.Err, Again: func(ctx context.Context, _ func(context.Context) error) error {
			err := full.Again(ctx, f.holds)
			if err != nil && errors.Is(err, ctx.Err()) { // nothing was started
				return err
			}
			return f.passed(ctx, err)
		}}
	}
}

// fence is what a caller knows of the owner of a run.
type fence struct {
	ask       func(context.Context) error
	look      func(ctx context.Context, interrupt func(context.Context) error) error
	interrupt func(context.Context) error
}

// holds asks the fence before a start.
func (f fence) holds(ctx context.Context) error {
	if err := f.ask(ctx); err != nil {
		return &strangeError{err}
	}
	return nil
}

// passed looks once more after a start that has ended with err, unless that says that
// nothing was started.
func (f fence) passed(ctx context.Context, err error) error {
	if f.look == nil || notStarted(err) {
		return err
	}
	// To its end, also where the turn is over meanwhile: it may have to stop a run.
	if strange := f.look(context.WithoutCancel(ctx), f.interrupt); strange != nil {
		return &strangeError{strange}
	}
	return err
}

// notStarted reports whether err says that nothing was started.
func notStarted(err error) bool {
	if _, strange := errors.AsType[*strangeError](err); strange {
		return true
	}
	e, ok := errors.AsType[*agentapi.Error](err)
	return ok && !errors.Is(e.Kind, agentapi.ErrLost) && !errors.Is(e.Kind, agentapi.ErrUncertain)
}

// strangeError says that a run is not its turn's: what is read of it is not the turn's
// answer, and it is left alone.
type strangeError struct{ err error }

func (e *strangeError) Error() string { return e.err.Error() }
func (e *strangeError) Unwrap() error { return e.err }
