package pg_test

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/uuid"
)

// TestAPoolerKeepsTheProtocol: each transaction may have another connection, and an
// old PgBouncer knows no statements by name.
func TestAPoolerKeepsTheProtocol(t *testing.T) {
	t.Parallel()
	target := server.Database(t)
	direct := dial(t, target)
	if _, err := direct.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(target)
	must(t, err)
	db := dial(t, server.Pooler(t, u.Path[1:]))
	db.Pooled()
	for _, o := range []pg.Options{{MaxRuns: 4, MaxQueue: 4, MaxLane: 4, Direct: direct}, {MaxRuns: 4, MaxQueue: 4, MaxLane: 4, LeaseOnly: true}} {
		a, err := pg.Join(t.Context(), db, o)
		must(t, err)
		b, err := pg.Join(t.Context(), db, o)
		must(t, err)
		c := asks("t", uuid.New(), uuid.New())
		f := claim(t, a, c, ledger.Mine)
		claim(t, b, c, ledger.There)
		must(t, a.Turn(soon(t, time.Minute), f.Ticket), a.Sending(t.Context(), f.Ticket, turn.Baseline{}, nil, true), a.Running(t.Context(), f.Ticket),
			a.End(t.Context(), f.Ticket, ledger.Ending{Result: []byte("done")}))
		if got := claim(t, b, c, ledger.Closed); string(got.Ending.Result) != "done" {
			t.Errorf("the end is %q", got.Ending.Result)
		}
		must(t, a.Close(), b.Close())
	}
}

// TestNoStatementTakesForEver: a network may swallow what is asked, and a lock may
// never be free.
func TestNoStatementTakesForEver(t *testing.T) {
	t.Parallel()
	db := database(t)
	db.Hurry(200 * time.Millisecond)
	if _, err := db.Query(t.Context(), "SELECT pg_sleep(600)"); !errors.Is(err, pg.ErrUnavailable) {
		t.Errorf("the error is %v", err)
	}
	db.Hurry(time.Minute)
	if _, err := db.Query(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("the next statement: %v", err)
	}
}

// TestAFrozenGatewayHoldsNoLockForEver: it may be frozen within a transaction.
func TestAFrozenGatewayHoldsNoLockForEver(t *testing.T) {
	t.Parallel()
	target := server.Database(t)
	slow := dial(t, target)
	if _, err := slow.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	slow.Hurry(5 * time.Second)
	a, b := join(t, slow, 4), join(t, dial(t, target), 4)
	conv := uuid.New()
	f := claim(t, a, asks("t", "one", conv), ledger.Mine)
	must(t, a.Turn(soon(t, time.Minute), f.Ticket), a.Sending(t.Context(), f.Ticket, turn.Baseline{}, nil, true))
	within, thaw, stopped := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := a.Stop(t.Context(), "t", conv, nil, func(context.Context) error {
			close(within)
			<-thaw
			return nil
		})
		stopped <- err
	}()
	<-within
	claim(t, b, asks("t", "two", conv), ledger.Mine)
	close(thaw)
	if err := <-stopped; !errors.Is(err, pg.ErrUnavailable) {
		t.Errorf("the frozen gateway gets %v", err)
	}
}

// TestABatchIsOneTransaction: nothing of it stays after an error, the connection goes on,
// and only its own commit waits for the disk, or does not.
func TestABatchIsOneTransaction(t *testing.T) {
	t.Parallel()
	for _, pooled := range []bool{false, true} {
		db := database(t)
		if pooled {
			db.Pooled()
		}
		chore := "INSERT INTO chores (name, done_at) VALUES ($1, now())"
		if _, err := db.Batch(t.Context(), false, chore, "first", chore, "first"); err == nil {
			t.Error("a row is there twice")
		}
		rows, err := db.Batch(t.Context(), false, chore, "second", "SELECT count(*), current_setting('synchronous_commit'), $1", "")
		if err != nil || rows[0][0] != "1" || rows[0][1] != "off" {
			t.Errorf("pooled %v: %q, %v", pooled, rows, err)
		}
		rows, err = db.Query(t.Context(), "SELECT count(*), current_setting('synchronous_commit') FROM chores")
		if err != nil || rows[0][0] != "1" || rows[0][1] != "on" {
			t.Errorf("pooled %v: afterwards %q, %v", pooled, rows, err)
		}
	}
}

// TestEachStateHasAName of its own, from its first gateway on.
func TestEachStateHasAName(t *testing.T) {
	t.Parallel()
	db, other := database(t), database(t)
	if name, err := db.Identity(t.Context()); name != "" || err != nil {
		t.Errorf("without a gateway: %q, %v", name, err)
	}
	join(t, db, 1)
	join(t, other, 1)
	name, err := db.Identity(t.Context())
	must(t, err)
	join(t, db, 1)
	again, err := db.Identity(t.Context())
	must(t, err)
	elsewhere, err := other.Identity(t.Context())
	must(t, err)
	if name == "" || again != name || elsewhere == name {
		t.Errorf("%q, then %q; another one: %q", name, again, elsewhere)
	}
}

// connections lets db have so many.
func connections(t *testing.T, db *pg.DB, n int) {
	t.Helper()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if _, err := db.Query(t.Context(), "SELECT pg_sleep(0.2)"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestTheConnectionUsedLastIsUsedNext, so that while there is little to do, no other one
// has to be looked at first.
func TestTheConnectionUsedLastIsUsedNext(t *testing.T) {
	t.Parallel()
	db := database(t)
	connections(t, db, 8)
	used := map[string]bool{}
	for range 20 {
		rows, err := db.Query(t.Context(), "SELECT pg_backend_pid()")
		must(t, err)
		used[rows[0][0]] = true
	}
	if len(used) != 1 {
		t.Errorf("%d connections were used one after the other", len(used))
	}
}

// TestOneBrokenConnectionTellsOfTheOthers: a database that was restarted costs one
// statement, and not one for each connection.
func TestOneBrokenConnectionTellsOfTheOthers(t *testing.T) {
	t.Parallel()
	target := server.Database(t)
	db, other := dial(t, target), dial(t, target)
	connections(t, db, 3)
	_, err := other.Query(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	must(t, err)
	failed := 0
	for range 3 {
		if _, err := db.Query(t.Context(), "SELECT 1"); err != nil {
			failed++
		}
	}
	if failed > 1 {
		t.Errorf("%d statements of 3 failed", failed)
	}
}
