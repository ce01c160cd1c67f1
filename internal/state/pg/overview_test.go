package pg_test

import (
	"testing"

	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestTheOverviewShowsWhichGatewaysLive(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b, c := join(t, db, 2), join(t, db, 2), join(t, db, 2)
	for range 3 {
		claim(t, a.Ledger(), asks("t", "", uuid.New()), ledger.Mine)
	}
	b.Die()
	cutOff(t, db, c)
	o, err := db.Overview(t.Context(), lease)
	must(t, err)
	if o.Slots != 2 || o.Running != 2 || o.Waiting != 1 || len(o.Gateways) != 3 {
		t.Fatalf("overview = %+v", o)
	}
	for i, want := range []pg.Gateway{{ID: a.ID(), Runs: 3}, {ID: b.ID(), Dead: true}, {ID: c.ID(), Dead: true}} {
		if g := o.Gateways[i]; g.ID != want.ID || g.Dead != want.Dead || g.Runs != want.Runs {
			t.Errorf("gateway = %+v, want %+v", g, want)
		}
	}
}
