package pg_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/uuid"
)

// BenchmarkTurn is the cost of a turn without a key while others go on: what its client
// waits in all, and the time that the cores of Postgres work for it (cpu-ms/op).
func BenchmarkTurn(b *testing.B) {
	for _, running := range []int{0, 7000, 35000} {
		b.Run(fmt.Sprintf("running=%d", running), func(b *testing.B) { benchmarkTurn(b, running) })
	}
}

func benchmarkTurn(b *testing.B, running int) {
	b.Helper()
	target := server.Database(b)
	db, err := pg.Open(target)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	if _, err := db.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	r, err := pg.Join(b.Context(), db, pg.Options{MaxRuns: running + 64, MaxQueue: 64, MaxLane: 8, Lease: lease})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(r.Die)
	u, err := url.Parse(target)
	if err != nil {
		b.Fatal(err)
	}
	server.Exec(b, strings.TrimPrefix(u.Path, "/"), fmt.Sprintf(`INSERT INTO runs (token, print, conv, seq, phase, owner, slot, baseline, request)
		SELECT 't' || (i %% 50), 'x', gen_random_uuid(), 1, 2, 1, i, '{}', 'go' FROM generate_series(1, %d) i;
		UPDATE slots SET run = n WHERE n <= %d; ANALYZE`, running, running))
	const clients = 4
	before := busy(b)
	b.ResetTimer()
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for i := client; i < b.N; i += clients {
				if err := oneTurn(b, r, fmt.Sprint("t", i%50)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((busy(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// TestATurnReadsNoWholeTable: not even where the plans are made for an empty one, as they
// are for hours after Postgres has counted it.
func TestATurnReadsNoWholeTable(t *testing.T) {
	t.Parallel()
	db := database(t)
	_, err := db.Query(t.Context(), "ANALYZE")
	must(t, err)
	r := join(t, db, 4)
	scans := func() (whole string, byIndex int) {
		t.Helper()
		_, err := db.Query(t.Context(), "SELECT pg_stat_force_next_flush()") // of the connection that has all turns
		must(t, err)
		rows, err := db.Query(t.Context(), "SELECT string_agg(relname || ' ' || seq_scan, ', ' ORDER BY relname), sum(idx_scan) FROM pg_stat_user_tables WHERE relname IN ('runs', 'slots', 'conversations')")
		must(t, err)
		byIndex, err = strconv.Atoi(rows[0][1])
		must(t, err)
		return rows[0][0], byIndex
	}
	must(t, oneTurn(t, r, "t"))
	before, looked := scans()
	for range 20 {
		must(t, oneTurn(t, r, "t"))
	}
	after, now := scans()
	if after != before {
		t.Errorf("whole tables were read: %s, then %s", before, after)
	}
	if now-looked < 20 {
		t.Errorf("20 turns looked into indexes %d times: they are not counted", now-looked)
	}
}

// oneTurn does what a gateway does for a turn.
func oneTurn(tb testing.TB, r *pg.Replica, token string) error {
	tb.Helper()
	ctx := tb.Context()
	c := asks(token, "", uuid.New())
	c.Joins, c.Once, c.Owned = func([]ledger.Past) int { return -1 }, true, true
	f, err := r.Claim(ctx, c)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error {
			if f.Slot {
				return nil
			}
			return r.Turn(ctx, f.Ticket)
		},
		func() error { return r.Sending(ctx, f.Ticket, turn.Baseline{}, []byte("go"), false) },
		func() error { return r.Secure(ctx) },
		func() error { return r.Running(ctx, f.Ticket) },
		func() error { return r.Started(ctx, f.Ticket, nil) },
		func() error { return r.End(ctx, f.Ticket, ledger.Ending{Result: []byte("done")}) },
		func() error { return r.Delivered(ctx, f.Run) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// busy is the time that the processes of the server have worked so far.
func busy(b *testing.B) time.Duration {
	b.Helper()
	if runtime.GOOS != "linux" {
		b.Skip("the time of processes is read from /proc")
	}
	u, err := url.Parse(server.URL("postgres", "ohgw"))
	if err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(u.Query().Get("host"), "data", "postmaster.pid"))
	if err != nil {
		b.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	ticks := 0
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended meanwhile
		}
		// After the name: state, parent, …; the times are the twelfth to the fifteenth.
		fields := strings.Fields(string(stat)[strings.LastIndex(string(stat), ")")+1:])
		own, isFirst := fields[11:13], filepath.Base(filepath.Dir(name)) == first
		if isFirst {
			own = fields[11:15] // and those of its children that have ended
		}
		if fields[1] != first && !isFirst {
			continue
		}
		for _, field := range own {
			n, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * (time.Second / 100)
}
