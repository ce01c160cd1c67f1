//go:build e2e && unix

package scale_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/uuid"
)

// order lets eight clients write into one conversation over all gateways, which die.
// The agent answers in the order in which the database has taken the messages, and
// never two at once.
func order(t *testing.T, w *world, r *rand.Rand) {
	t.Helper()
	const each = 4
	one := uuid.New()
	ctx, cancel := context.WithCancel(t.Context())
	var clients, faults sync.WaitGroup
	var mu sync.Mutex
	keys := map[string]string{} // marks by the client's key
	for range 8 {
		clients.Go(func() {
			for range each {
				a := w.message(keyed, "[[wait 20ms]]")
				a.conversation = one
				mu.Lock()
				keys[a.key] = a.mark
				mu.Unlock()
				w.ask(t.Context(), a)
			}
		})
	}
	faults.Go(func() {
		for wait(ctx, time.Duration(r.IntN(1000))*time.Millisecond) {
			g := w.gateways[r.IntN(len(w.gateways))]
			g.kill()
			if err := g.launch(t); err != nil {
				t.Error(err)
			}
		}
	})
	clients.Wait()
	cancel()
	faults.Wait()
	w.collect()
	var requests []*asking
	w.mu.Lock()
	for _, name := range keys {
		requests = append(requests, w.asked[name]...)
	}
	w.mu.Unlock()
	slices.SortFunc(requests, func(a, b *asking) int { return a.started.Compare(b.started) })
	for i := 1; i < len(requests); i++ {
		if before := requests[i-1]; before.ended.After(requests[i].started) {
			t.Errorf("%s began before %s had ended", requests[i].of, before.of)
		}
	}
	rows := database.Query(t, w.state, "SELECT seq, convert_from(result, 'UTF8') FROM runs WHERE conv = '"+one+"' ORDER BY seq")
	var want, got []string
	for _, row := range rows {
		want = append(want, isMark.FindString(row[1]))
	}
	for _, q := range requests {
		got = append(got, q.of)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the agent answered in the order\n%q, the database has\n%q", got, want)
	}
	t.Logf("%d messages of one conversation in their order", len(got))
}
