// Package batch runs the tool calls of one answer of the model: in their
// order, or some at a time where what they need allows it.
package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/rescue"
)

// Call is one call. With an Err it is not run: that is its result.
type Call struct {
	Tool tool.Tool
	Call tool.Call
	Err  error
}

// Result is what became of a call.
type Result struct {
	Result tool.Result
	Err    error // the call could not be made
	// Interrupted says that the context ended before the call did, or before
	// it began.
	Interrupted bool
	// Output is what an interrupted call had written by then; see [tool.StoppedError].
	Output string
}

// Run runs the calls, at most limit at once, and returns their results in the
// order of the calls when all are there. Calls begin in their order, except that
// one waits for what it needs while others go on; two that need the same thing
// never run at the same time.
func Run(ctx context.Context, calls []Call, limit int) []Result {
	results := make([]Result, len(calls))
	if limit <= 1 {
		for i, c := range calls {
			results[i] = one(ctx, c)
		}
		return results
	}
	q := newQueue(calls, limit)
	var all sync.WaitGroup
	for i, c := range calls {
		all.Go(func() {
			if !q.begin(ctx, i) {
				results[i] = Result{Interrupted: true}
				return
			}
			defer q.end(i)
			results[i] = one(ctx, c)
		})
	}
	all.Wait()
	return results
}

// one runs a call. A tool that panics has failed, and nothing else with it.
func one(ctx context.Context, c Call) (r Result) {
	if c.Err != nil {
		return Result{Err: c.Err}
	}
	if ctx.Err() != nil {
		return Result{Interrupted: true}
	}
	var result tool.Result
	err := rescue.Do(func() (err error) {
		result, err = c.Tool.Run(ctx, c.Call)
		return err
	})
	if rescue.Of(err) != nil {
		return Result{Err: fmt.Errorf("the tool failed unexpectedly: %w", err)}
	}
	if ctx.Err() != nil {
		r.Interrupted = true
		if stopped, ok := errors.AsType[*tool.StoppedError](err); ok {
			r.Output = stopped.Output
		}
		return r
	}
	return Result{Result: result, Err: err}
}

// queue lets calls begin in their order, when what they need is free.
type queue struct {
	mu      sync.Mutex
	changed *sync.Cond
	needs   [][]string
	state   []state
	free    int
}

type state int

const (
	queued state = iota
	running
	over
)

func newQueue(calls []Call, limit int) *queue {
	q := &queue{needs: make([][]string, len(calls)), state: make([]state, len(calls)), free: limit}
	q.changed = sync.NewCond(&q.mu)
	for i, c := range calls {
		if c.Tool == nil {
			continue
		}
		q.needs[i] = c.Tool.Locks(c.Call.Args)
		if q.needs[i] == nil {
			q.needs[i] = []string{"tool:" + c.Tool.Definition().Name}
		}
	}
	return q
}

// begin waits until call i may run. It is false if the context ended first.
func (q *queue) begin(ctx context.Context, i int) bool {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.changed.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.may(i) {
		if ctx.Err() != nil {
			q.state[i] = over
			q.changed.Broadcast()
			return false
		}
		q.changed.Wait()
	}
	q.state[i] = running
	q.free--
	q.changed.Broadcast()
	return true
}

// may reports whether call i is the first in the queue that has all it needs, and
// there is room for it.
func (q *queue) may(i int) bool {
	if q.free == 0 || q.blocked(i) {
		return false
	}
	for before := range i {
		if q.state[before] == queued && !q.blocked(before) {
			return false
		}
	}
	return true
}

// blocked reports whether a call before i that is not over needs what i needs.
func (q *queue) blocked(i int) bool {
	for before := range i {
		if q.state[before] != over && shares(q.needs[before], q.needs[i]) {
			return true
		}
	}
	return false
}

func shares(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

func (q *queue) end(i int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.state[i] = over
	q.free++
	q.changed.Broadcast()
}
