package pg_test

import (
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/agentapi/pool/placement/placementtest"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestPlacementKeepsTheContractOfFiles(t *testing.T) {
	t.Parallel()
	placementtest.Run(t, func(t *testing.T) (placement.Placer, placement.Placer) {
		t.Helper()
		url := server.Database(t)
		a := dial(t, url)
		if _, err := a.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a.Placement(), dial(t, url).Placement()
	})
}

// Runs that other gateways have begun fill a server up.
func TestRunsOfOtherGatewaysCount(t *testing.T) {
	t.Parallel()
	db := database(t)
	p, other := db.Placement(), join(t, db, 8)
	if err := p.Join(t.Context(), []placement.Server{{Name: "a0", Slots: 2}, {Name: "a1", Slots: 2}}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		id := uuid.New()
		if err := p.Put(t.Context(), id, "a0"); err != nil {
			t.Fatal(err)
		}
		c := ledger.Claim{Token: "t", Key: []byte{byte(i)}, Print: []byte{byte(i)}, Conversation: id}
		if _, err := other.Claim(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		at, err := p.Place(t.Context(), uuid.New(), []placement.Candidate{{Name: "a0"}, {Name: "a1"}})
		if err != nil || at != "a1" {
			t.Fatalf("placed at %q, %v", at, err)
		}
	}
	list, err := p.Servers(t.Context())
	if err != nil || len(list) != 2 || list[0].Runs != 2 || list[1].Runs != 0 {
		t.Errorf("the servers are %+v, %v", list, err)
	}
}

// Gateways that place at the same time use all servers, by what is free there.
func TestPlacesAreWeightedByFreeSlots(t *testing.T) {
	t.Parallel()
	p := database(t).Placement()
	if err := p.Join(t.Context(), []placement.Server{{Name: "a0", Slots: 4}, {Name: "a1", Slots: 16}}); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	const n = 400
	for range n {
		at, err := p.Place(t.Context(), uuid.New(), []placement.Candidate{{Name: "a0"}, {Name: "a1", Runs: 4}})
		if err != nil {
			t.Fatal(err)
		}
		counts[at]++
	}
	// 4 against 12 free slots: a quarter is 100, and 8.7 its standard deviation.
	if counts["a0"] < 50 || counts["a0"] > 150 {
		t.Errorf("of %d conversations the servers got %v", n, counts)
	}
}

func TestOneGatewayLooksAtAServer(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	first := dial(t, url)
	if _, err := first.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	gateways := []placement.Placer{first.Placement(), dial(t, url).Placement(), dial(t, url).Placement()}
	if err := gateways[0].Join(t.Context(), []placement.Server{{Name: "a0", Slots: 1}}); err != nil {
		t.Fatal(err)
	}
	due := make([]bool, len(gateways))
	var wg sync.WaitGroup
	for i, g := range gateways {
		wg.Go(func() {
			var err error
			if due[i], err = g.Due(t.Context(), "a0"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n := 0
	for _, is := range due {
		if is {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d gateways look at the server", n)
	}
}
