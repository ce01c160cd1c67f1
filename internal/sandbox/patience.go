package sandbox

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrNoAnswer is the error of a program that neither ends nor works any more.
var ErrNoAnswer = errors.New("no answer")

// AskPatiently runs a program of the user outside of any box, and returns the
// beginning of what it prints. The end of ctx ends it, with what it started.
//
// The limit does not depend on how busy the machine is: the program is ended, with the
// error [ErrNoAnswer], when it was idle for that long, or has used that much of the
// processor's time. What it waits for a processor or a disk does not count. On systems
// without /proc all of the time counts.
func AskPatiently(ctx context.Context, p Program, limit time.Duration) ([]byte, error) {
	return AskInTheBackground(ctx, p, limit, func() {}, limit)
}

// AskInTheBackground asks like AskPatiently a program that is not waited for longer
// than patience, which is measured as the limit is: then late is called, once.
func AskInTheBackground(ctx context.Context, p Program, patience time.Duration, late func(), limit time.Duration) ([]byte, error) {
	ctx, stop := context.WithCancelCause(ctx)
	box := &watched{Box: Outside(Off, Mark{})}
	box.started = func(pid int) {
		box.watching.Go(func() {
			if watch(ctx, limit, func() (bool, time.Duration) { return activity(pid) }) {
				stop(ErrNoAnswer)
			}
		})
		if patience < limit {
			box.watching.Go(func() {
				if watch(ctx, patience, func() (bool, time.Duration) { return activity(pid) }) {
					late()
				}
			})
		}
	}
	out, err := ask(ctx, box, p)
	if err != nil && errors.Is(context.Cause(ctx), ErrNoAnswer) {
		err = ErrNoAnswer
	}
	stop(nil)
	box.watching.Wait()
	return out, err
}

// watched is a box that tells of the program that is started in it.
type watched struct {
	Box

	started  func(pid int)
	watching sync.WaitGroup
}

// Start starts a program.
func (b *watched) Start(ctx context.Context, p Program) (Process, error) {
	process, err := b.Box.Start(ctx, p)
	if err == nil {
		b.started(process.PID())
	}
	return process, err
}

// looks is how often a program is looked at in the limit, if it is idle.
const looks = 15

// watch reports true when a program has used up its limit, and false when ctx ends.
// The time between two looks counts as one interval, however long this process itself
// had to wait for a processor.
func watch(ctx context.Context, limit time.Duration, activity func() (busy bool, used time.Duration)) bool {
	interval := limit / looks
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var idle time.Duration
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		busy, used := activity()
		if !busy {
			idle += interval
		}
		if idle >= limit || used >= limit {
			return true
		}
	}
}
