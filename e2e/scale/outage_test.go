//go:build e2e && unix

package scale_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"
)

// load lets clients of all modes ask until ctx ends.
func (w *world) load(ctx context.Context, t *testing.T, clients int, script string, change func(*ask)) *sync.WaitGroup {
	t.Helper()
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				a := w.message(modes[i%len(modes)], script)
				if change != nil {
					change(&a)
				}
				w.ask(t.Context(), a)
			}
		})
	}
	return &wg
}

// TestAFullAgentServer has more clients than an agent-server has room for, beside a gateway that
// dies: those that wait for room begin when there is some.
func TestAFullAgentServer(t *testing.T) {
	w := newWorld(t, options{room: 2, direct: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	clients := w.load(ctx, t, 12, "[[wait 50ms]]", nil)
	for _, g := range w.gateways {
		wait(ctx, time.Second)
		g.kill()
		g.start(t)
	}
	cancel()
	clients.Wait()
	f := w.settle(t)
	f.row, f.deaths, f.took = "full agent-server", w.deaths(), time.Since(began)
	t.Log("\n" + table([]figures{f}))
}

// databaseCrash lets the database crash under load, three times.
func databaseCrash(t *testing.T, w *world, r *rand.Rand) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clients := w.load(ctx, t, 16, "[[wait 300ms]]", nil)
	for range 3 {
		wait(ctx, time.Duration(500+r.IntN(1500))*time.Millisecond)
		crash(t)
	}
	wait(ctx, time.Second)
	cancel()
	clients.Wait()
}

// databaseAway takes the database away for 10 s, or 60 in a long run: new requests get
// 503 with Retry-After, and running answers end, of which the database hears later.
func databaseAway(t *testing.T, w *world, _ *rand.Rand) {
	t.Helper()
	away := 10 * time.Second
	if length(t) > 2*time.Minute {
		away = time.Minute
	}
	var clients sync.WaitGroup
	for i := range 8 {
		a := w.message(keyed, "[[slow 20 400ms]]")
		a.stream = i%2 == 0
		clients.Go(func() {
			if o := w.ask(t.Context(), a); o.attempts != 1 {
				t.Errorf("a running answer needed %d attempts: %q", o.attempts, o.why)
			}
		})
		w.awaitAsked(t, a)
	}
	wait(t.Context(), time.Second) // longer than a commit that waits for nothing takes to the disk
	if err := database.Crash(); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for until := time.Now().Add(away); time.Now().Before(until); wait(t.Context(), 500*time.Millisecond) {
		r := post(t.Context(), w.balancer.URL, ask{text: mark + "0x", mode: keyed, key: "away"}, 0)
		if r.status != http.StatusServiceUnavailable || r.retryAfter == "" {
			t.Errorf("without the database a request gets %d %q, Retry-After %q", r.status, r.code, r.retryAfter)
		}
		refused++
	}
	clients.Wait()
	if err := database.Start(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d requests were refused in %v", refused, away)
}

// agentsCrash kills the agent-server under load. Runs may fail then, but none runs
// twice, and no client waits for ever.
func agentsCrash(t *testing.T, w *world, _ *rand.Rand) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clients := w.load(ctx, t, 16, "[[wait 500ms]]", func(a *ask) { a.sure = false })
	for range 2 {
		wait(ctx, time.Second)
		w.fake.Kill()
		wait(ctx, time.Second)
		w.fake.Restart(t)
	}
	wait(ctx, time.Second)
	cancel()
	clients.Wait()
	if o := w.ask(t.Context(), w.message(keyed, "")); o.err != nil {
		t.Errorf("afterwards: %v", o.err)
	}
}

// deploy ends each gateway in turn and starts it again, under 32 streams and as many
// requests that wait.
func deploy(t *testing.T, w *world, _ *rand.Rand) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var broken, streams int
	var clients sync.WaitGroup
	for i := range 56 { // there is room for 48
		clients.Go(func() {
			for ctx.Err() == nil {
				a := w.message(keyed, "[[slow 10 100ms]]")
				a.stream = i < 32
				o := w.ask(t.Context(), a)
				mu.Lock()
				streams++
				broken += o.broken
				mu.Unlock()
			}
		})
	}
	for _, g := range w.gateways {
		wait(ctx, time.Second)
		if err := g.end(syscall.SIGTERM); err != nil {
			t.Errorf("a gateway ends with %v", err)
		}
		if err := g.launch(t); err != nil {
			t.Error(err)
		}
	}
	wait(ctx, time.Second)
	cancel()
	clients.Wait()
	if broken > 0 {
		t.Errorf("%d of %d streams that had begun were broken", broken, streams)
	}
	rows := database.Query(t, w.state, "SELECT count(*) FROM runs WHERE stop <> '' OR failed")
	t.Logf("%d answers; runs that failed or were stopped since the start: %s", streams, rows[0][0])
}
