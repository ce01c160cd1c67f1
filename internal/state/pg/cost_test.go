package pg_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/uuid"
)

// step is one question of a gateway for a turn.
type step struct {
	name string
	ask  func() error
}

// steps are those of a turn, in their order.
func steps(tb testing.TB, l *pg.Ledger, token, key string) []step {
	tb.Helper()
	ctx := tb.Context()
	c := asks(token, key, uuid.New())
	c.Joins, c.Once, c.Owned = func([]ledger.Past) int { return -1 }, true, true
	var f ledger.Found
	list := []step{
		{"claim", func() (err error) {
			if f, err = l.Claim(ctx, c); err == nil && !f.Slot {
				err = l.Turn(ctx, f.Ticket) // only where all slots are in use
			}
			return err
		}},
		{"sending", func() error { return l.Sending(ctx, f.Ticket, turn.Baseline{}, []byte("go"), key != "") }},
		{"secure", func() error { return l.Secure(ctx) }},
		{"running", func() error { return l.Running(ctx, f.Ticket) }},
		{"started", func() error { return l.Started(ctx, f.Ticket, nil) }},
		{"end", func() error { return l.End(ctx, f.Ticket, ledger.Ending{Result: []byte("done")}) }},
		{"delivered", func() error { return l.Delivered(ctx, f.Run) }},
	}
	if key != "" {
		list = append(list[:2], list[3:]...)
	}
	return list
}

func oneTurn(tb testing.TB, l *pg.Ledger, token, key string) error {
	tb.Helper()
	for _, s := range steps(tb, l, token, key) {
		if err := s.ask(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// The design has four: claim, sending, running, end. Beside them are the look after the start, the
// note that a client has the answer, and without a key the wait for the disk beside the sending of
// the message.
func TestAStepOfATurnIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	db := database(t)
	sent := db.CountRequests() // counts for connections that are made from now on
	l := joinQuietly(t, db).Ledger()
	for _, key := range []string{"", "key"} {
		must(t, oneTurn(t, l, "t", first(key))) // prepares the statements
		before := sent()
		list := steps(t, l, "t", key)
		for _, s := range list {
			at := sent()
			must(t, s.ask())
			if n := sent() - at; n != 1 {
				t.Errorf("round trips of %s = %d, want 1", s.name, n)
			}
		}
		if n, want := sent()-before, map[string]int64{"": 7, "key": 6}[key]; n != want || int64(len(list)) != want {
			t.Errorf("round trips of a turn with key %q = %d, want %d", key, n, want)
		}
	}
}

// first is another key, for a request with one.
func first(key string) string {
	if key == "" {
		return ""
	}
	return "first " + key
}

// joinQuietly makes a gateway that gives its next sign of life in an hour.
func joinQuietly(t *testing.T, db *pg.DB) *pg.Replica {
	t.Helper()
	r, err := pg.Join(t.Context(), db, pg.Options{MaxRuns: 4, MaxQueue: 64, MaxLane: 8, Lease: 3 * time.Hour})
	must(t, err)
	t.Cleanup(r.Die)
	r.AwaitSign()
	return r
}

// Not even where the plans are made for empty tables, as they are for hours after Postgres has
// counted them.
func TestATurnReadsNoWholeTable(t *testing.T) {
	t.Parallel()
	db := database(t)
	rows(t, db, "ANALYZE")
	l := joinQuietly(t, db).Ledger()
	scans := func() (whole string) {
		t.Helper()
		rows(t, db, "SELECT pg_stat_force_next_flush()") // of the connection that has all turns
		return rows(t, db, "SELECT string_agg(relname || ' ' || seq_scan, ', ' ORDER BY relname) FROM pg_stat_user_tables WHERE relname IN ('runs', 'slots', 'conversations')")[0][0]
	}
	looks := func() (n int) {
		t.Helper()
		_, err := fmt.Sscan(rows(t, db, "SELECT sum(idx_scan) FROM pg_stat_user_tables WHERE relname IN ('runs', 'slots', 'conversations')")[0][0], &n)
		must(t, err)
		return n
	}
	must(t, oneTurn(t, l, "t", ""))
	before, looked := scans(), looks()
	for range 20 {
		must(t, oneTurn(t, l, "t", ""))
	}
	if after := scans(); after != before {
		t.Errorf("whole tables were read: %s, then %s", before, after)
	}
	if n := looks() - looked; n < 20 {
		t.Errorf("looks into indexes in 20 turns = %d: they are not counted", n)
	}
}

// BenchmarkTurn is the cost of a turn while others go on: what its client waits in all.
func BenchmarkTurn(b *testing.B) {
	for _, running := range []int{0, 7000} {
		for _, key := range []string{"", "key"} {
			b.Run(fmt.Sprintf("running=%d/key=%v", running, key != ""), func(b *testing.B) { benchmarkTurn(b, running, key) })
		}
	}
}

func benchmarkTurn(b *testing.B, running int, key string) {
	b.Helper()
	target := server.Database(b)
	db := dial(b, target)
	_, err := db.Migrate(b.Context())
	must(b, err)
	l := join(b, db, running+64).Ledger()
	u, err := url.Parse(target)
	must(b, err)
	server.Exec(b, strings.TrimPrefix(u.Path, "/"), fmt.Sprintf(`INSERT INTO runs (id, token, print, conv, seq, phase, owner, slot, baseline, request)
		SELECT i, 't' || (i %% 50), 'x', gen_random_uuid(), 1, 2, 1, i, '{}', 'go' FROM generate_series(1, %d) i;
		UPDATE slots SET run = n WHERE n <= %d; ANALYZE`, running, running))
	const clients = 4
	b.ResetTimer()
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for i := client; i < b.N; i += clients {
				own := key
				if own != "" {
					own = uuid.New()
				}
				if err := oneTurn(b, l, fmt.Sprint("t", i%50), own); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
