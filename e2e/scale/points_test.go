//go:build e2e && unix

package scale_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// TestScale is the rows that one world is enough for.
func TestScale(t *testing.T) {
	n := seed(t)
	w := newWorld(t, options{room: 40})
	var all []figures
	row := func(name string, f func(t *testing.T, w *world, r *rand.Rand)) {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			before := w.deaths()
			w.revive(t)
			f(t, w, rand.New(rand.NewPCG(n, 1)))
			for _, g := range w.gateways {
				g.disarm()
			}
			w.revive(t)
			figures := w.settle(t)
			figures.row, figures.deaths, figures.took = name, w.deaths()-before, time.Since(began)
			all = append(all, figures)
		})
	}
	row("points", everyPoint)
	row("random", randomFaults)
	row("order", order)
	row("handover", handover)
	row("frozen", frozen)
	row("late messages", func(t *testing.T, w *world, _ *rand.Rand) { lateMessages(t, w) })
	row("cut off", cutOff)
	row("deploy", deploy)
	row("crash of the database", databaseCrash)
	row("database away", databaseAway)
	row("crash of an agent-server", agentsCrash)
	t.Log("\n" + table(all))
}

// everyPoint lets a gateway die before and after each step of the protocol, for each
// kind of client.
func everyPoint(t *testing.T, w *world, r *rand.Rand) {
	t.Helper()
	type deadly struct {
		point string
		mode  mode
	}
	var all []deadly
	for _, p := range points {
		for _, when := range []string{"before ", "after "} {
			for _, m := range modes {
				if (p == "delivered" || p == "secure") && m == keyed { // there is no such step
					continue
				}
				all = append(all, deadly{when + p, m})
			}
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	work := make(chan deadly)
	var wg sync.WaitGroup
	for i := range w.gateways {
		wg.Go(func() {
			for d := range work {
				w.die(t, w.gateways[i], d.point, d.mode)
			}
		})
	}
	for _, d := range all {
		work <- d
	}
	close(work)
	wg.Wait()
}

// die asks a gateway, which dies at a point, and then all of them.
func (w *world) die(t *testing.T, g *gateway, point string, m mode) {
	t.Helper()
	a := w.message(m, "")
	a.first, a.stream = g.URL, len(point)%2 == 0
	sprung := g.arm(point, g.dies)
	var again sync.WaitGroup
	again.Go(func() {
		select {
		case <-sprung:
		case <-time.After(patience):
			t.Errorf("%s, %s: the gateway never came there", point, m)
		}
		g.disarm()
		if err := g.launch(t); err != nil {
			t.Error(err)
		}
	})
	if o := w.ask(t.Context(), a); o.err != nil {
		t.Errorf("%s, %s: %v after %v, %d attempts", point, m, o.err, o.took, o.attempts)
	}
	again.Wait()
}
