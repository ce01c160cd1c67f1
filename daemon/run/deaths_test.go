package run_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// TestManyDeathsStartNothingTwice lets gateways die at random steps while clients send each
// request again until it is answered.
func TestManyDeathsStartNothingTwice(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		inGateways(t, func(g *gateways) {
			rng := rand.New(rand.NewPCG(seed, 1))
			all := []*gateway{g.join(), g.join(), g.join()}
			var mu sync.Mutex
			choose := func() *gateway {
				mu.Lock()
				defer mu.Unlock()
				i := rng.IntN(len(all))
				if all[i].alive() != nil {
					all[i] = g.join()
					all[i].last = 1 + rng.IntN(40)
				}
				return all[i]
			}
			for _, m := range all {
				m.last = 1 + rng.IntN(40)
			}
			var wg sync.WaitGroup
			for i := range 12 {
				text := fmt.Sprintf("nap %d", 100+i)
				req := shared(text, fmt.Sprint("key ", i))
				if i%3 == 0 {
					req = within(conversation, req)
				}
				req.Detach = true // no run is stopped while its client waits to send it again
				wg.Go(func() {
					for try := 0; ; try++ {
						got, err := choose().answer(req)
						if err == nil && strings.HasSuffix(got, text) {
							return
						}
						if try > 100 {
							g.t.Errorf("seed %d: %s has no answer: %q, %v", seed, text, got, err)
							return
						}
						time.Sleep(500 * time.Millisecond)
					}
				})
			}
			wg.Wait()
			g.join() // it looks after what the last ones left
			time.Sleep(time.Minute)
			for text, n := range g.b.sent() {
				if n != 1 {
					g.t.Errorf("seed %d: the agent ran %d times for %q", seed, n, text)
				}
			}
			for _, phase := range g.state.Phases() {
				if phase != ledger.Ended {
					g.t.Errorf("seed %d: a run has not ended: %d", seed, phase)
				}
			}
		})
	}
}
