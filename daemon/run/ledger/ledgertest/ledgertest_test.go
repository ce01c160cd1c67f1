package ledgertest_test

import (
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger/ledgertest"
)

// world is the state in memory, as the contract needs it.
type world struct{ state *ledgertest.State }

// Join adds a gateway; the first one sets the limits.
func (w *world) Join(t *testing.T, opts ledgertest.Options) ledgertest.Gateway {
	t.Helper()
	if w.state == nil {
		w.state = ledgertest.New(time.Now, opts)
	}
	r := w.state.Join()
	return ledgertest.Gateway{Ledger: r, Shots: r.Shots(), Die: r.Die, CutOff: r.CutOff}
}

// Age makes everything older.
func (w *world) Age(_ *testing.T, by time.Duration) { w.state.Age(by) }

func TestTheLedgerInMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, func(*testing.T) ledgertest.World { return &world{} })
}
