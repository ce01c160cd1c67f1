package pg_test

import (
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/agentapi/pool/placement/placementtest"
	"github.com/ohgw/ohgw/daemon/run/ledger/ledgertest"
	"github.com/ohgw/ohgw/internal/state/pg"
)

// world is a database, as the contract of ledgers needs it.
type world struct{ db *pg.DB }

func (w world) Join(t *testing.T, opts ledgertest.Options) ledgertest.Gateway {
	t.Helper()
	r, err := pg.Join(t.Context(), w.db, pg.Options{MaxRuns: opts.MaxRuns, MaxQueue: opts.MaxQueue, MaxLane: opts.MaxLane, Lease: lease})
	must(t, err)
	t.Cleanup(r.Die)
	return ledgertest.Gateway{Ledger: r.Ledger(), Shots: r.Shots(), Die: r.Die, CutOff: func() { cutOff(t, w.db, r) }}
}

func (w world) Age(t *testing.T, by time.Duration) {
	t.Helper()
	for _, sql := range []string{
		"UPDATE conversations SET used_at = used_at - make_interval(secs => $1), ends_at = ends_at - make_interval(secs => $1)",
		`UPDATE runs SET alone_at = alone_at - make_interval(secs => $1), made_at = made_at - make_interval(secs => $1), ended_at = ended_at - make_interval(secs => $1),
			delivered_at = delivered_at - make_interval(secs => $1), first_at = first_at - make_interval(secs => $1)`,
	} {
		rows(t, w.db, sql, by)
	}
}

// cutOff lets the lease of a gateway be over for all others. It does not know of that.
func cutOff(t *testing.T, db *pg.DB, r *pg.Replica) {
	t.Helper()
	r.AwaitSign()
	rows(t, db, "UPDATE replicas SET seen_at = now() - make_interval(secs => $2) WHERE id = $1", r.ID(), 2*lease)
}

func TestTheLedgerInPostgresKeepsTheContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, func(t *testing.T) ledgertest.World { return world{database(t)} })
}

func TestThePlacerInPostgresKeepsTheContract(t *testing.T) {
	t.Parallel()
	placementtest.Run(t, func(t *testing.T) (placement.Placer, placement.Placer) {
		t.Helper()
		url := server.Database(t)
		a := dial(t, url)
		_, err := a.Migrate(t.Context())
		must(t, err)
		return a.Placement(), dial(t, url).Placement()
	})
}
