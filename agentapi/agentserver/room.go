package agentserver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
)

// A server that is full is asked again after a pause that grows, and at once when
// a run of ours has ended. Other clients do not tell when theirs have.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
	// growEvery is how long after a refusal one more run is tried than there were.
	growEvery = 10 * time.Second
)

// room is what is known of the runs that the server has room for. The server does not
// report its limit, all its clients share that limit, and it refuses runs above it. Runs
// that it has refused are tried again here, one after the other.
type room struct {
	now   func() time.Time
	freed chan struct{} // has an element when a run of ours has ended

	mu       sync.Mutex
	runs     int // of ours, as far as is known
	requests int // of ours that take room, or try to
	limit    int // how many both were at the last refusal
	refused  time.Time
	line     []chan struct{} // who was refused, in order; the first one's is closed
}

func newRoom(now func() time.Time) *room {
	return &room{now: now, freed: make(chan struct{}, 1)}
}

// Room is how many runs the server had room for when it last refused one, and one
// more for each growEvery since then; 0: it has refused none.
func (b *Backend) Room() int {
	r := b.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused.IsZero() {
		return 0
	}
	return max(r.limit, r.runs) + int(r.now().Sub(r.refused)/growEvery)
}

// take makes a request that takes room. The room stays taken if it starts a run.
func (r *room) take(starts bool, do func() error) error {
	r.mu.Lock()
	r.requests++
	r.mu.Unlock()
	err := do()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests--
	switch {
	case isFull(err):
		r.limit, r.refused = max(1, r.runs+r.requests), r.now()
	case err == nil && starts:
		r.runs++
	default:
		r.free()
	}
	return err
}

// ended gives back the room of a run.
func (r *room) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs--
	r.free()
}

// free wakes one caller that waits for room. The caller holds mu.
func (r *room) free() {
	select {
	case r.freed <- struct{}{}:
	default:
	}
}

// again makes a request that was refused until it is not.
func (r *room) again(ctx context.Context, try func() error) error {
	first := r.enter()
	defer r.leave(first)
	select {
	case <-first:
	case <-ctx.Done():
		return ctx.Err()
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := r.pause(ctx, pause); err != nil {
			return err
		}
		if err := try(); !isFull(err) {
			return err
		}
	}
}

func (r *room) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.freed:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// enter takes the last place of the line. The channel is closed when it is the first.
func (r *room) enter() chan struct{} {
	first := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line = append(r.line, first)
	if len(r.line) == 1 {
		close(first)
	}
	return first
}

func (r *room) leave(place chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.Index(r.line, place)
	r.line = slices.Delete(r.line, at, at+1)
	if at == 0 && len(r.line) > 0 {
		close(r.line[0])
		r.free() // there may be room for more than one
	}
}

// isFull reports whether the server said that it runs as many agents as it can.
func isFull(err error) bool {
	e, ok := errors.AsType[*answerError](err)
	return ok && e.native && e.status == http.StatusTooManyRequests
}

// take makes a call that starts a run, and counts the run.
func (c *conversation) take(do func() error) error {
	r := c.backend.room
	err := r.take(c.counts, do)
	if err == nil && c.counts && c.working.Swap(true) {
		r.ended() // the one before, which has made place for this one
	}
	return err
}

// full returns the error of a run that the server refused, for the cause err. Its Again
// calls try once more when the server has room.
func (c *conversation) full(stored bool, err error, try func(context.Context) error) error {
	once := func(ctx context.Context, before func(context.Context) error) error {
		if before != nil {
			if err := before(ctx); err != nil {
				return err
			}
		}
		err := try(context.WithoutCancel(ctx))
		if errors.Is(err, agentapi.ErrBusy) {
			return nil // another client has started it
		}
		return err
	}
	again := func(ctx context.Context, before func(context.Context) error) error {
		return c.backend.room.again(ctx, func() error { return once(ctx, before) })
	}
	return &agentapi.Error{
		Kind: agentapi.ErrFull, Msg: "The agent-server runs as many agents as it can. Try again later.",
		Err: &agentapi.FullError{Stored: stored, Again: again, Err: err},
	}
}
