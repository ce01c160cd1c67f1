package pg_test

import (
	"os"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/testkit/pgtest"
)

var server *pgtest.Server

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m, func(s *pgtest.Server) { server = s })) }

// database is one with the tables of this version.
func database(t *testing.T) *pg.DB {
	t.Helper()
	db := empty(t)
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

func empty(t *testing.T) *pg.DB {
	t.Helper()
	return dial(t, server.Database(t))
}

func dial(t *testing.T, url string) *pg.DB {
	t.Helper()
	db, err := pg.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// lease is so long that no gateway of a test loses it because the machine is slow.
const lease = 2 * time.Minute

func join(t *testing.T, db *pg.DB, runs int) *pg.Replica {
	t.Helper()
	r, err := pg.Join(t.Context(), db, pg.Options{MaxRuns: runs, MaxQueue: 64, MaxLane: 8, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Die)
	return r
}
