package gate

import (
	"testing"
	"time"
)

// The moments at which something is not found do not depend on how long it took.
func TestNotFoundIsAnsweredOnAGrid(t *testing.T) {
	t.Parallel()
	tick := SteadyTick
	for elapsed, want := range map[time.Duration]time.Duration{
		0: tick, time.Microsecond: tick - time.Microsecond, tick - 1: 1, tick: tick, tick + time.Millisecond: tick - time.Millisecond,
		-time.Second: tick, 10*tick + 1: tick - 1,
	} {
		if got := untilTick(elapsed); got != want {
			t.Errorf("after %s it waits %s, want %s", elapsed, got, want)
		}
	}
}
