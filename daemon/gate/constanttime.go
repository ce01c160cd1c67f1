package gate

import (
	"context"
	"time"
)

// SteadyTick is the grid of times at which it is answered that there is nothing of
// an id. It is many times what it takes to look for one.
const SteadyTick = 25 * time.Millisecond

// steady waits for the next moment of the grid, which begins when the request was
// whole: an answer that looked for nothing and one that found what belongs to
// another token are sent at the same time.
func (x *Exchange) steady(ctx context.Context) {
	timer := time.NewTimer(untilTick(Deadline(0).Sub(x.arrived)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// untilTick is the time from now to the next moment of the grid.
func untilTick(elapsed time.Duration) time.Duration {
	return SteadyTick - max(0, elapsed)%SteadyTick
}
