package daemon_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/owners"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/daemon/run/ledger/ledgertest"
)

// sharing makes a gateway one of several.
func sharing(r *ledgertest.Replica) func(*daemon.Config) {
	return func(cfg *daemon.Config) { cfg.Shared = &daemon.Shared{Ledger: r, Owners: owners.Open("")} }
}

func TestARequestThatAnotherGatewayContinuesIsSentAgainAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call       string
		err        error
		retryAfter string
		retry      string
	}{
		{"claim", errors.New("away"), "2", ""},
		{"turn", ledger.ErrFenced, "0", "true"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := ledgertest.New(time.Now, ledgertest.Options{MaxQueue: 1}).Join() // without a slot
			r.Fail(c.call, c.err)
			g := apitest.Serve(t, apitest.Script(), sharing(r))
			res := g.Chat(apitest.Ask("hi"))
			apitest.Envelope(t, res, 503, "not_ready", "")
			apitest.Equal(t, "Retry-After", res.Header.Get("Retry-After"), c.retryAfter)
			apitest.Equal(t, "X-Should-Retry", res.Header.Get("X-Should-Retry"), c.retry)
			if err := g.Stop(); err != nil {
				t.Errorf("Stop: %v", err)
			}
		})
	}
}
