package pg_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/clientitems/clientitemstest"
	"github.com/ohgw/ohgw/daemon/owners/ownerstest"
	"github.com/ohgw/ohgw/internal/recordfile/recordtest"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/token"
	"github.com/ohgw/ohgw/internal/token/tokentest"
)

func TestRecordsKeepTheContractOfFiles(t *testing.T) {
	t.Parallel()
	r := join(t, database(t), 1)
	other := r.Records("other")
	if err := other.Write("ab/1", []byte("of another kind")); err != nil {
		t.Fatal(err)
	}
	recordtest.Run(t, func(t *testing.T) recordtest.Store {
		t.Helper()
		return r.Records(t.Name())
	})
}

func TestTokensKeepTheContractOfFiles(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	tokentest.Run(t, func(t *testing.T) (*token.Store, *token.Store) {
		t.Helper()
		return tokens(t, a), tokens(t, b)
	})
}

// tokens is the store of a gateway for the tokens of a test.
func tokens(t *testing.T, r *pg.Replica) *token.Store {
	t.Helper()
	shelf, err := r.Shelf(t.Context(), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return token.NewStore(token.Config{Dir: filepath.Join(t.TempDir(), "state"), Now: time.Now, Shelf: shelf})
}

func TestOwnersKeepTheContractOfFiles(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	ownerstest.Run(t, func(*testing.T) (ownerstest.Store, ownerstest.Store) { return a.Owners(), b.Owners() })
}

func TestClientItemsKeepTheContractOfFiles(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	clientitemstest.Run(t, func(*testing.T) (*clientitems.Store, *clientitems.Store) {
		return clientitems.New(a.Records("items")), clientitems.New(b.Records("items"))
	})
}
