package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/rescue"
)

// Input is what starts a turn.
type Input struct {
	Message agentapi.Message
	// Goal is what the message is to reach; nil: the turn is one run. A conversation that
	// cannot pursue goals fails with ErrUnsupported, and nothing is started. A turn that
	// accepts what waits has the goal that its conversation has.
	Goal *agentapi.Goal
	// Decision answers actions that wait for confirmation. Accepting them is the whole
	// turn: the message is not sent. Rejecting them comes before the message. Without a
	// decision a message rejects what waits, because the user did not accept it. Where
	// nothing waits it has no effect.
	Decision *agentapi.Decision
	// Busy is called when the conversation has a run that this turn did not
	// start: the turn waits for its end, and stops it first if Busy says so. Nil:
	// the turn fails with ErrBusy.
	Busy func() (stop bool)
	// Ready is called before anything is sent, with all that is needed to
	// follow the turn later. Its error ends the turn. May be nil.
	Ready func(Baseline) error
	// Fence, where there is one, is called between the message and its run. Its
	// error ends the turn before anything runs. The conversation must be an
	// [agentapi.Fenced]; accepted actions are a run without a message, and Fence is
	// called before it. A goal is not possible with it.
	Fence func(ctx context.Context) error
	// Started is called when the run was started after a Fence, with the call that
	// interrupts whatever runs in the conversation: the run may have got another owner,
	// or have ended, between the two. Its error ends the turn and leaves the run alone.
	// Nil: nothing is to be checked.
	Started func(ctx context.Context, interrupt func(context.Context) error) error
	// Emit is called with every update, in order, one call at a time.
	Emit func(Update)
	// Details reports whether the caller wants tool calls described; it is called for each
	// of them. Nil: they are not described.
	Details func() bool
	// Spent is called with what the turn took so far, when that has changed, by
	// the goroutine of Emit. May be nil.
	Spent func(Usage)
}

// noAnswer is the reason sent to the agent for actions that the user did not answer.
const noAnswer = "The user did not approve this action and sent a new message instead."

// Run drives c through one turn and returns when it is over.
//
// When ctx ends, the run is interrupted, and Run returns when the agent says
// so: a result with the outcome Interrupted, or an error if it does not within
// 10 s. A run that waited for room is not started then: where its message is in
// the log, the outcome is Interrupted, too. An error is an [agentapi.Error], ctx's
// own if nothing was started, or Ready's. Next to an error the result holds the
// text and usage so far.
func Run(ctx context.Context, c agentapi.Conversation, in Input) (res Result, err error) {
	err = RunInto(ctx, c, &in, &res)
	return res, err
}

// RunInto drives c as Run does, for callers that hold many turns: it keeps its stack for as
// long as the turn takes, and has pointers on it.
func RunInto(ctx context.Context, c agentapi.Conversation, in *Input, res *Result) error {
	if err := fenceable(c, in); err != nil {
		return err
	}
	if err := pursuable(ctx, c, in.Goal); err != nil {
		return err
	}
	stream, err := c.Watch(ctx, "")
	if err != nil {
		return err
	}
	defer stream.Close()
	d, err := prepared(ctx, c, stream, in)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	return d.run(ctx, res)
}

// prepared makes the driver of a turn, up to the point where something is sent. It is apart
// from Run, which keeps its stack for as long as the turn takes.
func prepared(ctx context.Context, c agentapi.Conversation, stream agentapi.Stream, in *Input) (*driver, error) {
	r, waited, err := free(ctx, c, stream, in.Busy)
	if err != nil {
		return nil, err
	}
	if waited && in.Decision != nil && in.Decision.Accept {
		in.Decision = nil // the user has not seen the actions that wait now
	}
	start, err := starter(ctx, c, r, in)
	if err != nil {
		return nil, err
	}
	if in.Ready != nil {
		base := r.Baseline()
		if base.Accepts = r.Began(); !base.Accepts {
			base.Message, base.Twice = digest(in.Message.Content()), in.Fence != nil
		}
		if err := in.Ready(base); err != nil {
			return nil, err
		}
	}
	r.Details(in.Details)
	return &driver{conv: c, stream: stream, reader: r, emit: oneByOne(in.Emit), spent: in.Spent, start: start}, nil
}

// pursuable refuses a goal that c cannot pursue.
func pursuable(ctx context.Context, c agentapi.Conversation, g *agentapi.Goal) error {
	if g == nil {
		return nil
	}
	pursuer, ok := c.(agentapi.Pursuer)
	if !ok {
		return &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "This backend cannot pursue goals; leave the goal out, or use the embedded agent.", Err: agentapi.ErrNoGoals}
	}
	return pursuer.Pursues(ctx)
}

// ErrNoTurn is what Follow returns when there is no run to follow: the message
// never arrived, or its run never began.
var ErrNoTurn = errors.New("no such turn")

// Follow reads the turn that begins after b: as a Run that joined it would.
// Ending ctx ends the watch and leaves the run alone. emit and details are as in
// [Input].
func Follow(ctx context.Context, c agentapi.Conversation, b Baseline, emit func(Update), details func() bool) (Result, error) {
	stream, err := c.Watch(ctx, b.After)
	if err != nil {
		return Result{}, err
	}
	defer stream.Close()
	// The first snapshot says how things are now; all later ones follow the
	// replay, so the log was read as far as it goes.
	if _, err := stream.Next(ctx); err != nil {
		return Result{}, err
	}
	d := driver{conv: c, stream: stream, reader: NewReader(&b), emit: emit, uncertain: ErrNoTurn}
	d.reader.Details(details)
	if b.Accepts {
		d.reader.Begin()
	}
	err = d.read(ctx)
	if err == nil && !d.reader.ends.ran {
		err = ErrNoTurn
	}
	return d.reader.Result(), err
}

// Goes reports whether c has a run that is the one of the turn after b. The status alone
// does not show it: the turn may be over, and the run another client's.
func Goes(ctx context.Context, c agentapi.Conversation, b Baseline) (bool, error) {
	stream, err := c.Watch(ctx, b.After)
	if err != nil {
		return false, err
	}
	defer stream.Close()
	// As in Follow, the first snapshot comes before the replay, the next one behind it.
	if _, err := stream.Next(ctx); err != nil {
		return false, err
	}
	r := NewReader(&b)
	if b.Accepts {
		r.Begin()
	}
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			return false, err
		}
		if _, err := r.Add(e); err != nil || r.Done() {
			return false, err
		}
		if s, full, _ := e.FullState(); full {
			return r.Began() && s.Status == event.Running, nil
		}
	}
}

// starter prepares the conversation and returns the call that starts the run.
func starter(ctx context.Context, c agentapi.Conversation, r *Reader, in *Input) (func(context.Context) error, error) {
	if r.Status() == event.Waiting {
		if in.accepts(r.Status()) {
			r.Begin()
			decision := *in.Decision
			return fenced(c, in, func(ctx context.Context) error { return c.Decide(ctx, decision) }), nil
		}
		no := agentapi.Decision{Reason: noAnswer}
		if in.Decision != nil && in.Decision.Reason != "" {
			no.Reason = in.Decision.Reason
		}
		if err := c.Decide(ctx, no); err != nil {
			return nil, fmt.Errorf("reject the pending actions: %w", err)
		}
	}
	return sender(c, in), nil
}

// driver runs one turn: one goroutine reads, one starts the run, one stops it.
type driver struct {
	conv   agentapi.Conversation
	stream agentapi.Stream
	reader *Reader
	emit   func(Update)
	spent  func(Usage) // may be nil
	start  func(context.Context) error

	usage Usage // that spent was called with

	mu        sync.Mutex
	uncertain error // start failed, and it is unknown how far it came; or the run is not the turn's
	stopping  bool
	active    bool // as the reader's
	started   bool // start said so, or the message is in the log
	withdrawn bool // the wait for room was given up
}

// oneByOne is emit for two goroutines: one reads, and one waits for room.
func oneByOne(emit func(Update)) func(Update) {
	var mu sync.Mutex
	return func(u Update) {
		mu.Lock()
		defer mu.Unlock()
		emit(u)
	}
}

var errNotStopped = &agentapi.Error{Kind: agentapi.ErrLost, Msg: "The agent did not stop when it was interrupted; it may still be running."}

func (d *driver) run(ctx context.Context, res *Result) error {
	// The run outlives ctx by the time it takes to interrupt it.
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	started := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(started)
		d.begin(ctx, life, end)
	})
	wg.Add(1)
	unwatch := context.AfterFunc(ctx, func() { // in place of a goroutine that waits as long as the turn takes
		defer wg.Done()
		if life.Err() == nil {
			d.stop(life, end, started)
		}
	})
	err := rescue.Do(func() error { return d.read(life) })
	if cause := context.Cause(life); err != nil && cause != nil {
		err = cause
	}
	end(context.Canceled)
	if unwatch() {
		wg.Done()
	}
	wg.Wait()
	return d.over(ctx, res, err)
}

// over ends a run whose goroutines are gone.
func (d *driver) over(ctx context.Context, res *Result, err error) error {
	if rescue.Of(err) != nil {
		d.abandon(ctx)
	}
	if strange, ok := errors.AsType[*strangeError](d.uncertain); ok {
		*res = Result{}
		return strange.err
	}
	*res = d.reader.Result()
	if errors.Is(err, errWithdrawn) {
		res.Outcome = Interrupted
		return nil
	}
	if d.started || d.reader.Active() {
		err = afterStart(err)
	}
	return err
}

// abandon stops the run, if there is one, once no client can follow it.
func (d *driver) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	_ = rescue.Do(func() error { return d.conv.Interrupt(ctx) }) // the turn has an error already
}

// afterStart returns err as it is for a run that was started. Most kinds say that
// nothing was started, and a client that believes it runs the agent again.
func afterStart(err error) error {
	e, ok := errors.AsType[*agentapi.Error](err)
	if !ok || !notStarted(err) {
		return err
	}
	return &agentapi.Error{Kind: agentapi.ErrLost, Msg: e.Msg, Err: err}
}

// begin starts the run. A start that surely failed ends the turn.
func (d *driver) begin(ctx, life context.Context, end context.CancelCauseFunc) {
	err := rescue.Do(func() error { return d.start(life) })
	if full, ok := errors.AsType[*agentapi.FullError](err); ok {
		err = rescue.Do(func() error { return d.wait(ctx, life, full) })
	}
	if strange, ok := errors.AsType[*strangeError](err); ok {
		d.mu.Lock()
		d.uncertain = strange
		d.mu.Unlock()
		end(strange)
		return
	}
	switch {
	case err == nil:
		d.mu.Lock()
		d.started = true
		d.mu.Unlock()
	case life.Err() != nil:
	case errors.Is(err, agentapi.ErrUncertain):
		d.mu.Lock()
		d.uncertain = err
		d.mu.Unlock()
		d.doubt(life, end, err)
	default:
		end(err)
	}
}

// doubt ends the turn if no run shows itself: nothing else would, where the
// message never arrived and the stream is well.
func (d *driver) doubt(life context.Context, end context.CancelCauseFunc, err error) {
	timer := time.AfterFunc(doubtTimeout, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if !d.active {
			end(err)
		}
	})
	context.AfterFunc(life, func() { timer.Stop() })
}

// stop interrupts the run, not before it was started: an interrupt that comes
// first would be forgotten.
func (d *driver) stop(life context.Context, end context.CancelCauseFunc, started <-chan struct{}) {
	timer := time.AfterFunc(stopTimeout, func() { end(errNotStopped) })
	defer timer.Stop()
	select {
	case <-started:
	case <-life.Done():
		return
	}
	d.mu.Lock()
	d.stopping = true
	d.mu.Unlock()
	err := rescue.Do(func() error { return d.conv.Interrupt(life) })
	if d.withdrawn {
		end(errWithdrawn) // whatever became of the interrupt: there is no run
		return
	}
	if err != nil && life.Err() == nil {
		end(fmt.Errorf("interrupt the run: %w", err))
		return
	}
	<-life.Done()
}

// read reads until the turn is over.
func (d *driver) read(ctx context.Context) error {
	for !d.reader.Done() {
		e, err := d.stream.Next(ctx)
		if err != nil {
			return err
		}
		if err := d.take(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// take reads one event.
func (d *driver) take(ctx context.Context, e event.Event) error {
	d.mu.Lock()
	d.reader.halting = d.stopping
	d.mu.Unlock()
	updates, err := d.reader.Add(e)
	if err != nil {
		return &agentapi.Error{Kind: agentapi.ErrLost, Msg: "The backend sent an event that cannot be read.", Err: err}
	}
	for _, u := range updates {
		d.emit(u)
	}
	if u := d.reader.Usage(); d.spent != nil && u != d.usage {
		d.usage = u
		d.spent(u)
	}
	return d.check(ctx, e)
}

// check looks at what only a driver knows: that the run began after it was
// interrupted, or that a start of unknown outcome had none.
func (d *driver) check(ctx context.Context, e event.Event) error {
	d.mu.Lock()
	stopping, uncertain := d.stopping, d.uncertain
	d.active = d.reader.Active()
	d.mu.Unlock()
	if s, ok := e.StatusUpdate(); ok && s == event.Running && stopping {
		return d.conv.Interrupt(ctx)
	}
	if uncertain == nil || d.reader.Active() {
		return nil
	}
	if s, snapshot, _ := e.FullState(); !snapshot || s.Status == event.Running {
		return nil
	}
	// A log need not hold what the status was: this one was read to its end. The
	// status of the conversation may be that of the turn before.
	if d.reader.conclude() {
		return nil
	}
	return uncertain
}
