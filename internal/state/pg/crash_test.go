package pg_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/testkit/pgtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// lazyServer is a server with a database, on whose disk is nothing but what a commit has
// waited for: those of other tests and the WAL writer would take the rest there.
func lazyServer(t *testing.T) (*pgtest.Server, *pg.DB) {
	t.Helper()
	if server == nil {
		t.Skip(pgtest.ErrMissing)
	}
	own, err := pgtest.New()
	must(t, err)
	t.Cleanup(own.Stop)
	own.Exec(t, "postgres", "ALTER SYSTEM SET wal_writer_delay = '10s'")
	must(t, own.Crash(), own.Start())
	db := dial(t, own.Database(t))
	_, err = db.Migrate(t.Context())
	must(t, err)
	return own, db
}

// TestARunIsOnTheDiskBeforeItBegins: a crash of the database after the fence does not
// forget it, with a key or without. So a request that comes again, at another gateway,
// finds the run. With a key, that is so before the message is sent. A run that was taken
// over does not go back to the gateway that had it.
func TestARunIsOnTheDiskBeforeItBegins(t *testing.T) {
	t.Parallel()
	_, db := lazyServer(t)
	r := join(t, db, 4)
	// step does something, and reports whether it is on the disk then.
	step := func(do func() error) bool {
		t.Helper()
		rows, err := db.Query(t.Context(), "SELECT pg_current_wal_insert_lsn()")
		must(t, err, do())
		rows, err = db.Query(t.Context(), "SELECT pg_current_wal_flush_lsn() > $1::pg_lsn", rows[0][0])
		must(t, err)
		return rows[0][0] == "t"
	}
	for _, key := range []string{"", "key"} {
		f := claim(t, r, asks("t", key, uuid.New()), ledger.Mine)
		sent := step(func() error {
			return errors.Join(r.Sending(t.Context(), f.Ticket, turn.Baseline{}, nil, key != ""), secure(r, key))
		})
		if !sent {
			t.Errorf("key %q: that the message is sent is not on the disk", key)
		}
		must(t, r.Release(t.Context(), f.Ticket))
		var next ledger.Found
		if !step(func() (err error) { next, err = r.Find(t.Context(), f.Run); return err }) || next.Kind != ledger.Taken {
			t.Errorf("key %q: that the run was taken over (%v) is not on the disk", key, next.Kind)
		}
		must(t, r.Running(t.Context(), next.Ticket), r.End(t.Context(), next.Ticket, ledger.Ending{}))
	}
}

// secure is what a gateway does while it sends the message of a request without a key.
func secure(r *pg.Replica, key string) error {
	if key != "" {
		return nil
	}
	return r.Secure(context.Background())
}

// TestARunThatIsLostHasNoNamesake: the database may lose a run that its gateway still
// looks after. No other run has its number then.
func TestARunThatIsLostHasNoNamesake(t *testing.T) {
	t.Parallel()
	own, db := lazyServer(t)
	r := join(t, db, 4)
	lost := claim(t, r, asks("t", "", uuid.New()), ledger.Mine)
	must(t, own.Crash(), own.Start())
	waitFor(t, "the database to answer", func() bool { _, err := db.Check(t.Context()); return err == nil })
	if err := r.Running(t.Context(), lost.Ticket); !errors.Is(err, ledger.ErrFenced) {
		t.Fatalf("the run was not lost: %v", err)
	}
	for range 40 { // a sequence is on the disk in steps of 32
		if f := claim(t, r, asks("other", "", uuid.New()), ledger.Mine); f.Run == lost.Run {
			t.Errorf("the number %d belongs to another run now", f.Run)
		}
	}
}
