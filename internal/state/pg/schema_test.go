package pg_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
)

// want checks that an error is of a kind, and has more words than that.
func want(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) || err.Error() == kind.Error() || !errors.Is(err, ledger.ErrAway) {
		t.Errorf("error = %v, want one of the kind %v", err, kind)
	}
}

func TestMigrationsRunOnceAndOnlyForward(t *testing.T) {
	t.Parallel()
	db := dial(t, server.Database(t))
	_, err := db.Check(t.Context())
	want(t, err, pg.ErrSchema)
	var wg sync.WaitGroup
	before := make([]int, 4)
	for i := range before {
		wg.Go(func() {
			from, err := db.Migrate(t.Context())
			if err != nil {
				t.Error(err)
			}
			before[i] = from
		})
	}
	wg.Wait()
	if slices.Sort(before); !slices.Equal(before, []int{0, pg.Version, pg.Version, pg.Version}) {
		t.Errorf("versions before the migrations = %v, want one 0", before)
	}
	h, err := db.Check(t.Context())
	if err != nil || h.Version != pg.Version || h.Server == "" {
		t.Errorf("health = %+v, %v", h, err)
	}
}

// A newer ohgw has added to the tables: gateways of this version go on, and start. When it has
// changed them, they do not.
func TestNewerTablesAreLeftAlone(t *testing.T) {
	t.Parallel()
	db := database(t)
	rows(t, db, "UPDATE meta SET version = 999")
	if from, err := db.Migrate(t.Context()); from != 999 || err != nil {
		t.Errorf("Migrate of newer tables: %d, %v", from, err)
	}
	if h, err := db.Check(t.Context()); h.Version != 999 || err != nil {
		t.Errorf("health = %+v, %v", h, err)
	}
	join(t, db, 1)
	rows(t, db, "UPDATE meta SET needs = 999")
	_, err := db.Check(t.Context())
	want(t, err, pg.ErrNewer)
	_, err = db.Migrate(t.Context())
	want(t, err, pg.ErrNewer)
	_, err = pg.Join(t.Context(), db, pg.Options{MaxRuns: 1})
	want(t, err, pg.ErrNewer)
	if got := rows(t, db, "SELECT version, needs FROM meta"); got[0][0] != "999" || got[0][1] != "999" {
		t.Errorf("version and need after a refused migration = %q", got)
	}
}

func TestRightsAreAskedForEveryTable(t *testing.T) {
	t.Parallel()
	db := database(t)
	made := rows(t, db, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'meta'")
	if got, known := fmt.Sprint(sorted(slices.Concat(made...))), fmt.Sprint(sorted(pg.Tables())); got != known {
		t.Errorf("tables = %s, and Check knows %s", got, known)
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func TestADatabaseThatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	target := server.Database(t)
	_, err := dial(t, target).Migrate(t.Context())
	must(t, err)
	u, err := url.Parse(target)
	must(t, err)
	name := strings.TrimPrefix(u.Path, "/")
	role := "guest_" + name
	check := func(as string, kind error, change string) {
		t.Helper()
		server.Exec(t, name, change)
		_, err := dial(t, server.URL(name, as)).Check(t.Context())
		if kind != nil {
			want(t, err, kind)
		} else if err != nil {
			t.Error(err)
		}
	}
	check(role, pg.ErrRights, "CREATE ROLE "+role+" LOGIN; GRANT USAGE ON SCHEMA public TO "+role)
	_, err = dial(t, server.URL(name, role)).Migrate(t.Context())
	want(t, err, pg.ErrRights)
	check(role, pg.ErrRights, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+role) // one right of four
	check(role, pg.ErrRights, "GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+role)
	check(role, nil, "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "+role)
	join(t, dial(t, server.URL(name, role)), 1) // what Check accepts is enough for a gateway
	check(role, pg.ErrFunction, `DO $$ DECLARE f regprocedure; BEGIN
		FOR f IN SELECT oid FROM pg_proc WHERE proname = 'pg_logical_emit_message' LOOP EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || f || ' FROM PUBLIC'; END LOOP;
	END $$`)
	check("ohgw", pg.ErrIsolation, "ALTER DATABASE "+name+" SET default_transaction_isolation = 'repeatable read'")
	check("ohgw", pg.ErrReadOnly, "ALTER DATABASE "+name+" RESET default_transaction_isolation; ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	_, err = dial(t, target).Query(t.Context(), "DELETE FROM runs")
	want(t, err, pg.ErrReadOnly)
	check("stranger", pg.ErrLogin, "SELECT 1")
	_, err = dial(t, "postgres://u@127.0.0.1:1/db").Check(t.Context())
	want(t, err, pg.ErrUnavailable)
	want(t, pg.Explain(&pgconn.PgError{Code: "53100", Message: "could not extend file"}), pg.ErrFull)
}

func TestAWrongClockIsRefused(t *testing.T) {
	t.Parallel()
	target := server.Database(t)
	_, err := dial(t, target).Migrate(t.Context())
	must(t, err)
	for _, off := range []time.Duration{-2 * time.Minute, 2 * time.Minute} {
		db, err := pg.Open(target, func() time.Time { return time.Now().Add(off) })
		must(t, err)
		t.Cleanup(db.Close)
		_, err = db.Check(t.Context())
		if want(t, err, pg.ErrClock); err != nil && !strings.Contains(err.Error(), "by 2m0s") {
			t.Errorf("error = %v, want how far it is off", err)
		}
	}
}
