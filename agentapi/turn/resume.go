package turn

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Resume continues a turn whose first driver is gone, from wherever that left it: it
// sends the message if it is not in the log after b, starts the run if that never began,
// and follows a run that has begun or is over. A decision is sent only if nothing has
// happened since it was to be. Ready and Busy are not called: a run of another client is
// ErrBusy. Ending ctx interrupts the run, also one that has yet to be found. ErrNoTurn says
// that no run answers the message: it was stopped before, or its server was. Otherwise it
// is as [Run] with a Fence.
func Resume(ctx context.Context, c agentapi.Conversation, b Baseline, in Input) (res Result, err error) {
	err = resumeInto(ctx, c, &b, &in, &res)
	return res, err
}

func resumeInto(ctx context.Context, c agentapi.Conversation, b *Baseline, in *Input, res *Result) error {
	if in.Fence == nil {
		in.Fence = func(context.Context) error { return nil }
	}
	if err := fenceable(c, in); err != nil {
		return err
	}
	d, err := resumed(ctx, c, b, in)
	if d == nil {
		return err
	}
	defer d.stream.Close()
	if err != nil || d.start == nil {
		*res = d.reader.Result()
		return err
	}
	return d.run(ctx, res)
}

// resumed makes the driver of a turn that has begun elsewhere, and reads how far it has
// come. Without a stream it is nil.
func resumed(ctx context.Context, c agentapi.Conversation, b *Baseline, in *Input) (*driver, error) {
	reading, end := outlived(ctx)
	defer end()
	stream, err := c.Watch(reading, b.After)
	if err != nil {
		return nil, cause(reading, err)
	}
	r := NewReader(b)
	r.baseline.Twice = true
	r.Details(in.Details)
	if b.Accepts {
		r.Begin()
	}
	d := &driver{conv: c, stream: stream, reader: r, emit: oneByOne(in.Emit), spent: in.Spent}
	moved, err := d.replay(reading)
	if err = cause(reading, err); err == nil && !r.Done() {
		d.start, err = d.rest(ctx, c, b, in, moved)
	}
	return d, err
}

// outlived is a context for a look at what ctx's end is to stop: it ends later.
func outlived(ctx context.Context) (life context.Context, end func()) {
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(stopTimeout, func() { cancel(errNotStopped) })
		context.AfterFunc(life, func() { timer.Stop() })
	})
	return life, func() {
		unwatch()
		cancel(nil)
	}
}

// cause returns err, or why ctx has ended meanwhile.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// rest chooses what is left to do of a turn that was read as far as the log goes; nil: it
// is over. moved reports whether something has happened behind the baseline.
func (d *driver) rest(ctx context.Context, c agentapi.Conversation, b *Baseline, in *Input, moved bool) (func(context.Context) error, error) {
	r := d.reader
	r.past = false
	if r.Status() == event.Running {
		if !r.Began() {
			return nil, errOthers
		}
		d.uncertain = ErrNoTurn // as for Follow: a log need not hold what the status was
		return func(context.Context) error { return nil }, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, ok := c.(agentapi.Fenced)
	switch {
	case b.Accepts && !moved && in.accepts(r.Status()):
		decision := *in.Decision
		return fenced(c, in, func(ctx context.Context) error { return c.Decide(ctx, decision) }), nil
	case !r.Began():
		plain := *in
		plain.Decision = nil // it came before the message
		return starter(ctx, c, r, &plain)
	case ok && !b.Accepts && r.fresh():
		return fenced(c, in, f.Start), nil
	case r.conclude():
		return nil, nil
	}
	return nil, ErrNoTurn
}

// accepts reports whether the turn accepts what waits in a conversation of this status.
func (in *Input) accepts(s event.Status) bool {
	return s == event.Waiting && in.Decision != nil && in.Decision.Accept
}

// fresh reports whether nothing has become of the message of the turn: no run has begun
// since, and none was stopped before it began.
func (r *Reader) fresh() bool {
	return r.status != event.Waiting && !r.active && !r.ends.ran && r.ends.said == ""
}

// replay reads what the log has of the turn, up to the snapshot that follows it. moved
// reports whether the log has anything behind the baseline.
func (d *driver) replay(ctx context.Context) (moved bool, err error) {
	// The first snapshot says how things are now, before what led to it.
	if _, err := d.stream.Next(ctx); err != nil {
		return false, err
	}
	for {
		e, err := d.stream.Next(ctx)
		if err != nil {
			return moved, err
		}
		if err := d.take(ctx, e); err != nil {
			return moved, err
		}
		if e.IsFullState() {
			return moved, nil
		}
		_, told := e.Body.(*event.StateUpdate)
		moved = moved || e.Persisted() && !told
	}
}
