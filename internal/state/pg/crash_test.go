package pg_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/testkit/pgtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// lazyServer is a server with a database, whose disk has nothing but what a commit has waited for:
// those of other tests and the WAL writer would take the rest there.
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

// A crash of the database after the fence does not forget a run, with a key or without. So a
// request that comes again, at another gateway, finds it. With a key, that is so before the message
// is sent. A run that was taken over does not go back to the gateway that had it.
func TestARunIsOnTheDiskBeforeItBegins(t *testing.T) {
	t.Parallel()
	_, db := lazyServer(t)
	l := join(t, db, 4).Ledger()
	// step does something, and reports whether it is on the disk then.
	step := func(do func() error) bool {
		t.Helper()
		before := rows(t, db, "SELECT pg_current_wal_insert_lsn()")
		must(t, do())
		return rows(t, db, "SELECT pg_current_wal_flush_lsn() > $1::pg_lsn", before[0][0])[0][0] == "t"
	}
	for _, key := range []string{"", "key"} {
		f := claim(t, l, asks("t", key, uuid.New()), ledger.Mine)
		sent := step(func() error {
			return errors.Join(l.Sending(t.Context(), f.Ticket, turn.Baseline{}, nil, key != ""), secure(l, key))
		})
		if !sent {
			t.Errorf("key %q: that the message is sent is not on the disk", key)
		}
		must(t, l.Release(t.Context(), f.Ticket))
		var next ledger.Found
		if !step(func() (err error) { next, err = l.Find(t.Context(), f.Run); return err }) || next.Kind != ledger.Taken {
			t.Errorf("key %q: that the run was taken over (%v) is not on the disk", key, next.Kind)
		}
		must(t, l.Running(t.Context(), next.Ticket), l.End(t.Context(), next.Ticket, ledger.Ending{}))
	}
}

// secure is what a gateway does while it sends the message of a request without a key.
func secure(l *pg.Ledger, key string) error {
	if key != "" {
		return nil
	}
	return l.Secure(context.Background())
}

// The database may lose a run that its gateway still looks after. No other run has its number then.
func TestNoRunGetsTheNumberOfOneThatIsLost(t *testing.T) {
	t.Parallel()
	own, db := lazyServer(t)
	l := join(t, db, 4).Ledger()
	lost := claim(t, l, asks("t", "", uuid.New()), ledger.Mine)
	must(t, own.Crash(), own.Start())
	waittest.Until(t, waittest.Patience, "the database answers", func() (any, bool) {
		_, err := db.Check(t.Context())
		return err, err == nil
	})
	if err := l.Running(t.Context(), lost.Ticket); !errors.Is(err, ledger.ErrFenced) {
		t.Fatalf("the run was not lost: %v", err)
	}
	for range 40 { // a sequence is on the disk in steps of 32
		if f := claim(t, l, asks("other", "", uuid.New()), ledger.Mine); f.Run == lost.Run {
			t.Errorf("the number %d belongs to another run now", f.Run)
		}
	}
}
