package pg_test

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/internal/state/pg"
)

// want checks that an error is of a kind, and says more than that.
func want(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) || err.Error() == kind.Error() {
		t.Errorf("error is %v, want %v", err, kind)
	}
}

func TestMigrationsRunOnceAndOnlyForward(t *testing.T) {
	t.Parallel()
	db := empty(t)
	_, err := db.Check(t.Context())
	want(t, err, pg.ErrSchema)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var made int
	for range 4 {
		wg.Go(func() {
			from, err := db.Migrate(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if from == 0 {
				made++
			}
		})
	}
	wg.Wait()
	if made != 1 {
		t.Errorf("the tables were made %d times", made)
	}
	h, err := db.Check(t.Context())
	if err != nil || h.Version != pg.Version || h.Server == "" {
		t.Errorf("health %+v, %v", h, err)
	}
	// A newer ohgw has added something: gateways of this version go on, and start.
	if _, err := db.Query(t.Context(), "UPDATE meta SET version = 999"); err != nil {
		t.Fatal(err)
	}
	if from, err := db.Migrate(t.Context()); from != 999 || err != nil {
		t.Errorf("Migrate of newer tables: %d, %v", from, err)
	}
	if h, err := db.Check(t.Context()); h.Version != 999 || err != nil {
		t.Errorf("health %+v, %v", h, err)
	}
	join(t, db, 1)
	// It has changed something: they do not.
	if _, err := db.Query(t.Context(), "UPDATE meta SET needs = 999"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Check(t.Context())
	want(t, err, pg.ErrNewer)
	_, err = db.Migrate(t.Context())
	want(t, err, pg.ErrNewer)
	if _, err := pg.Join(t.Context(), db, pg.Options{MaxRuns: 1}); !errors.Is(err, pg.ErrNewer) {
		t.Errorf("a gateway joins: %v", err)
	}
}

func TestADatabaseThatCannotBeUsedIsNamed(t *testing.T) {
	t.Parallel()
	target := server.Database(t)
	owner := dial(t, target)
	if _, err := owner.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	server.Exec(t, name, "CREATE ROLE guest_"+name+" LOGIN; GRANT USAGE ON SCHEMA public TO guest_"+name)
	guest := dial(t, server.URL(name, "guest_"+name))
	_, err = guest.Check(t.Context())
	want(t, err, pg.ErrRights)
	_, err = guest.Migrate(t.Context())
	want(t, err, pg.ErrRights)

	server.Exec(t, name, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest_"+name)
	if _, err = guest.Check(t.Context()); err != nil {
		t.Error(err)
	}
	server.Exec(t, name, `DO $$ DECLARE f regprocedure; BEGIN
		FOR f IN SELECT oid FROM pg_proc WHERE proname = 'pg_logical_emit_message' LOOP EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || f || ' FROM PUBLIC'; END LOOP;
	END $$`)
	_, err = guest.Check(t.Context())
	want(t, err, pg.ErrFunction)

	server.Exec(t, name, "ALTER DATABASE "+name+" SET default_transaction_isolation = 'repeatable read'")
	_, err = dial(t, target).Check(t.Context())
	want(t, err, pg.ErrIsolation)
	server.Exec(t, name, "ALTER DATABASE "+name+" RESET default_transaction_isolation")
	server.Exec(t, name, "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	standby := dial(t, target)
	_, err = standby.Check(t.Context())
	want(t, err, pg.ErrReadOnly)
	_, err = standby.Query(t.Context(), "DELETE FROM runs")
	want(t, err, pg.ErrReadOnly)

	stranger := dial(t, server.URL(name, "stranger"))
	_, err = stranger.Check(t.Context())
	want(t, err, pg.ErrLogin)
	gone := dial(t, "postgres://u@127.0.0.1:1/db")
	_, err = gone.Check(t.Context())
	want(t, err, pg.ErrUnavailable)
}
