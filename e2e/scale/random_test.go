//go:build e2e && unix

package scale_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// between is how often a gateway would die on average, if its start took no time: with
// that it is every 300 ms.
const between = 150 * time.Millisecond

// randomFaults kills a gateway every 300 ms, for as long as OHGW_SCALE says. In a long
// run the database crashes, a gateway is frozen and one is cut off every minute, too.
func randomFaults(t *testing.T, w *world, r *rand.Rand) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length(t))
	defer cancel()
	var clients, faults sync.WaitGroup
	for i := range 16 {
		of := rand.New(rand.NewPCG(r.Uint64(), uint64(i)))
		clients.Go(func() {
			for ctx.Err() == nil {
				a := w.message(modes[i%len(modes)], "[[wait 300ms]]")
				a.stream = of.IntN(2) == 0
				w.ask(t.Context(), a)
			}
		})
	}
	for i, g := range w.gateways {
		of := rand.New(rand.NewPCG(r.Uint64(), uint64(i)))
		faults.Go(func() {
			for ctx.Err() == nil {
				wait(ctx, time.Duration(of.Int64N(int64(2*between)*int64(len(w.gateways)))))
				g.kill()
				if err := g.launch(t); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	if length(t) > 2*time.Minute {
		faults.Go(func() { w.rarer(ctx, t) })
	}
	faults.Wait()
	clients.Wait()
}

// rarer is what happens once a minute in a long run.
func (w *world) rarer(ctx context.Context, t *testing.T) {
	t.Helper()
	for minute := 1; wait(ctx, time.Minute); minute++ {
		crash(t)
		w.mu.Lock()
		t.Logf("minute %d: %d messages, %d answers", minute, len(w.asks), len(w.outcomes))
		w.mu.Unlock()
		t.Logf("minute %d: %d deaths", minute, w.deaths())
	}
}

// wait reports whether ctx goes on.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
