//go:build e2e && unix

package scale_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// lease is after how long a gateway counts as dead that gives no sign of life.
const lease = 15 * time.Second

// awaitAsked waits until the agent asks its model for a message.
func (w *world) awaitAsked(t *testing.T, a ask) {
	t.Helper()
	waittest.Until(t, patience, "the model is asked for "+a.mark, func() (any, bool) {
		w.collect()
		w.mu.Lock()
		defer w.mu.Unlock()
		n := len(w.asked[a.mark])
		return n, n > 0
	})
}

// sinceModel is how long after the end of the model's answer it is now.
func (w *world) sinceModel(a ask) time.Duration {
	w.collect()
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.asked[a.mark][0].ended)
}

// handover kills the gateway of a run, and looks how soon another one has the answer.
func handover(t *testing.T, w *world, _ *rand.Rand) {
	t.Helper()
	var took []time.Duration
	for i := range 8 {
		g := w.gateways[i%len(w.gateways)]
		w.revive(t)
		a := w.message(keyed, "[[wait 2s]]")
		a.first = g.URL
		var client sync.WaitGroup
		client.Go(func() {
			if o := w.ask(t.Context(), a); o.err == nil {
				took = append(took, w.sinceModel(a))
			}
		})
		w.awaitAsked(t, a)
		g.kill()
		client.Wait()
	}
	slices.Sort(took)
	if len(took) > 0 {
		t.Logf("after a crash the answer is there %v (median), %v (at most) after the model has ended", took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	}
}

// frozen stops a gateway for one and a half leases, and lets it wake.
func frozen(t *testing.T, w *world, r *rand.Rand) {
	t.Helper()
	g := w.gateways[r.IntN(len(w.gateways))]
	ctx, cancel := context.WithTimeout(t.Context(), lease*3/2)
	defer cancel()
	late := w.message(keyed, "")
	late.first, late.try = g.URL, 5*time.Second
	thaw := make(chan struct{})
	sprung := g.arm("before append", func() bool {
		g.signal(syscall.SIGSTOP)
		<-thaw
		return false
	})
	var clients sync.WaitGroup
	clients.Go(func() { w.ask(t.Context(), late) })
	for i := range 8 {
		clients.Go(func() {
			for ctx.Err() == nil {
				a := w.message(modes[i%len(modes)], "[[wait 300ms]]")
				a.try = 5 * time.Second
				w.ask(t.Context(), a)
			}
		})
	}
	<-ctx.Done()
	g.signal(syscall.SIGCONT)
	close(thaw)
	<-sprung
	clients.Wait()
}

// lateMessages delays a message between its gateway and the agent-server, until
// another gateway has taken the run over and brought it to its end. Then it arrives.
// The first gateway hears of nothing meanwhile.
func lateMessages(t *testing.T, w *world) {
	t.Helper()
	for i, g := range w.gateways {
		a := w.message(keyed, "")
		arrive, held := make(chan struct{}), make(chan struct{})
		sprung := g.arm("before append", func() bool {
			g.road.hold()
			g.wire.hold()
			g.wire.cut()
			close(held)
			<-arrive
			return false
		})
		var client sync.WaitGroup
		client.Go(func() { post(t.Context(), g.URL, a, 0) })
		select {
		case <-held:
		case <-time.After(patience):
			t.Fatal("the message was never sent")
		}
		if o := w.send(t.Context(), w.gateways[(i+1)%len(w.gateways)].URL, a); o.err != nil {
			t.Error(o.err)
		}
		g.wire.let()
		close(arrive)
		<-sprung
		client.Wait() // the gateway knows that the run is not its own, or has run it
		g.road.let()
	}
}

// TestTheJudgeFindsRunsThatHappenTwice takes the fence out: what is lost with it must
// be found, else the other rows show nothing.
func TestTheJudgeFindsRunsThatHappenTwice(t *testing.T) {
	for _, fenced := range []bool{true, false} {
		t.Run(fmt.Sprintf("fence=%v", fenced), func(t *testing.T) {
			o := options{}
			if !fenced {
				o.program = unfenced(t)
			}
			w := newWorld(t, o)
			lateMessages(t, w)
			w.rest(t)
			double := w.close(t).double
			t.Logf("%d messages ran twice", double)
			if fenced != (double == 0) {
				t.Errorf("%d messages ran twice", double)
			}
		})
	}
}

// cutOff takes the database away from one gateway. What it has begun it brings to its
// end, new requests go elsewhere, and another one takes its runs over.
func cutOff(t *testing.T, w *world, r *rand.Rand) {
	t.Helper()
	g := w.gateways[r.IntN(len(w.gateways))]
	long := w.message(keyed, "[[slow 20 200ms]]")
	long.first, long.stream = g.URL, true
	whole := w.message(keyed, "[[wait 2s]]")
	whole.first = g.URL
	var clients sync.WaitGroup
	for _, a := range []ask{long, whole} {
		clients.Go(func() {
			if o := w.ask(t.Context(), a); o.attempts != 1 {
				t.Errorf("%s needed %d attempts: %q", a.mark, o.attempts, o.why)
			}
		})
		w.awaitAsked(t, a)
	}
	g.wire.hold()
	clients.Go(func() {
		began := time.Now()
		again := whole
		again.first = ""
		for range len(w.gateways) { // one of them is not the one that is cut off
			if p := post(t.Context(), w.balancer.URL, again, 1); p.err == nil {
				t.Logf("another gateway has the answer %v after the cut", time.Since(began).Round(time.Millisecond))
				return
			}
		}
		t.Error("no other gateway has the answer")
	})
	for range 4 {
		clients.Go(func() { w.ask(t.Context(), w.message(keyed, "")) })
	}
	clients.Wait()
	wait(t.Context(), lease)
	g.wire.let()
}
