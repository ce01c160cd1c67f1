package pg_test

import (
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// The lock of a gateway is what shows that it lives. It has it again after its session broke.
func TestASessionThatBrokeIsMadeAgain(t *testing.T) {
	t.Parallel()
	db := database(t)
	r := join(t, db, 1)
	const lock = "FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database() WHERE l.locktype = 'advisory' AND l.classid = 28520 AND l.objid = $1::int::oid"
	first := rows(t, db, "SELECT l.pid "+lock, r.ID())
	if len(first) != 1 {
		t.Fatalf("sessions of the gateway = %v, want one", first)
	}
	rows(t, db, "SELECT pg_terminate_backend($1)", first[0][0])
	waittest.Until(t, waittest.Patience, "another session", func() (any, bool) {
		now := rows(t, db, "SELECT l.pid "+lock, r.ID())
		return now, len(now) == 1 && now[0][0] != first[0][0]
	})
	must(t, r.Close())
	if left := rows(t, db, "SELECT FROM replicas"); len(left) != 0 {
		t.Errorf("gateways after the end of the only one = %d", len(left))
	}
}

// A network that swallows all that is sent says nothing of it.
func TestASessionThatIsSilentIsMadeAgain(t *testing.T) {
	t.Parallel()
	target := server.Database(t)
	db, direct := dial(t, target), dial(t, target)
	_, err := db.Migrate(t.Context())
	must(t, err)
	swallow := direct.Swallow()
	db.Hurry(time.Second)
	r, err := pg.Join(t.Context(), db, pg.Options{MaxRuns: 1, Lease: 3 * time.Second, Direct: direct})
	must(t, err)
	t.Cleanup(r.Die)
	session := func() [][]string {
		return rows(t, db, "SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database() WHERE l.locktype = 'advisory' AND l.classid = 28520 AND l.objid = $1::int::oid", r.ID())
	}
	first := session()
	swallow()
	waittest.Until(t, waittest.Patience, "another session", func() (any, bool) {
		now := session()
		return now, len(now) == 1 && now[0][0] != first[0][0]
	})
}

// The last gateway that provides slots decides how many there are.
func TestSlotsAreThoseOfTheLastGateway(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 3), join(t, db, 5)
	for _, step := range []struct {
		provide func() error
		want    string
	}{
		{func() error { return nil }, "5"},
		{func() error { return a.Provide(t.Context(), 2) }, "2"},
		{func() error { return b.Provide(t.Context(), 4) }, "4"},
	} {
		must(t, step.provide())
		if got := rows(t, db, "SELECT (SELECT count(*) FROM slots), (SELECT runs FROM limits)")[0]; got[0] != step.want || got[1] != step.want {
			t.Errorf("slots and limit = %q, want %s", got, step.want)
		}
	}
}
