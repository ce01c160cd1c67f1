package pg_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/testkit/pgtest"
)

var server *pgtest.Server

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m, func(s *pgtest.Server) { server = s })) }

// database is one with the tables of this version.
func database(tb testing.TB) *pg.DB {
	tb.Helper()
	db := dial(tb, server.Database(tb))
	_, err := db.Migrate(tb.Context())
	must(tb, err)
	return db
}

func dial(tb testing.TB, url string) *pg.DB {
	tb.Helper()
	db, err := pg.Open(url, time.Now)
	must(tb, err)
	tb.Cleanup(db.Close)
	return db
}

// lease is so long that no gateway of a test loses it because the machine is slow.
const lease = 2 * time.Minute

func join(tb testing.TB, db *pg.DB, runs int) *pg.Replica {
	tb.Helper()
	r, err := pg.Join(tb.Context(), db, pg.Options{MaxRuns: runs, MaxQueue: 64, MaxLane: 8, Lease: lease})
	must(tb, err)
	tb.Cleanup(r.Die)
	return r
}

func must(tb testing.TB, errs ...error) {
	tb.Helper()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
}

// soon bounds what must not take long.
func soon(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// rows are those of a statement of a test.
func rows(t *testing.T, db *pg.DB, sql string, args ...any) [][]string {
	t.Helper()
	found, err := db.Query(t.Context(), sql, args...)
	must(t, err)
	return found
}
