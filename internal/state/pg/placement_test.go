package pg_test

import (
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Runs that other gateways have begun fill a server up.
func TestRunsOfOtherGatewaysCount(t *testing.T) {
	t.Parallel()
	db := database(t)
	p, other := db.Placement(), join(t, db, 8).Ledger()
	must(t, p.Join(t.Context(), []placement.Server{{Name: "a0", Slots: 2}, {Name: "a1", Slots: 2}}))
	for range 2 {
		f := claim(t, other, asks("t", "", uuid.New()), ledger.Mine)
		must(t, p.Put(t.Context(), f.Conversation, "a0"))
	}
	for range 20 {
		at, err := p.Place(t.Context(), uuid.New(), []placement.Candidate{{Name: "a0"}, {Name: "a1"}})
		if err != nil || at != "a1" {
			t.Fatalf("placed at %q, %v", at, err)
		}
	}
	list, err := p.Servers(t.Context())
	if err != nil || len(list) != 2 || list[0].Runs != 2 || list[1].Runs != 0 {
		t.Errorf("servers = %+v, %v", list, err)
	}
}

// Gateways that place at the same time use all servers, by what is free there.
func TestPlacesAreWeightedByFreeSlots(t *testing.T) {
	t.Parallel()
	p := database(t).Placement()
	must(t, p.Join(t.Context(), []placement.Server{{Name: "a0", Slots: 4}, {Name: "a1", Slots: 16}}))
	counts := map[string]int{}
	const n = 400
	for range n {
		at, err := p.Place(t.Context(), uuid.New(), []placement.Candidate{{Name: "a0"}, {Name: "a1", Runs: 4}})
		must(t, err)
		counts[at]++
	}
	// 4 of 16 free slots: 100 are expected, and 8.7 is the standard deviation.
	if counts["a0"] < 50 || counts["a0"] > 150 {
		t.Errorf("conversations by server = %v of %d, want about a quarter at a0", counts, n)
	}
}

func TestOneGatewayLooksAtAServer(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	dbs := []*pg.DB{dial(t, url), dial(t, url), dial(t, url)}
	_, err := dbs[0].Migrate(t.Context())
	must(t, err)
	must(t, dbs[0].Placement().Join(t.Context(), []placement.Server{{Name: "a0", Slots: 1}}))
	due := make(chan bool, len(dbs))
	var wg sync.WaitGroup
	for _, db := range dbs {
		wg.Go(func() {
			is, err := db.Placement().Due(t.Context(), "a0")
			if err != nil {
				t.Error(err)
			}
			due <- is
		})
	}
	wg.Wait()
	close(due)
	n := 0
	for is := range due {
		if is {
			n++
		}
	}
	if n != 1 {
		t.Errorf("gateways that look at the server = %d, want 1", n)
	}
}
