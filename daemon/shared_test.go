package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/chats/chatstest"
	"github.com/ohgw/ohgw/daemon/daemontest"
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

func TestAChatGoesOnAtTheOtherGateway(t *testing.T) {
	t.Parallel()
	kept, b := &chatstest.Memory{}, apitest.Script(daemontest.Say("ok"), daemontest.End(event.Finished))
	var all []*apitest.Gateway
	for range 2 {
		side := kept.Join()
		all = append(all, apitest.Serve(t, b, func(cfg *daemon.Config) { cfg.Shared = &daemon.Shared{Owners: owners.Open(""), Chats: side} }))
	}
	chat := []string{"X-OpenWebUI-Chat-Id", "11111111-2222-4333-8444-555555555555"}
	first := all[0].Chat(apitest.Ask("one"), chat...)
	answer := apitest.Completed(t, first).Text()
	second := all[1].Chat(apitest.Messages(`{"role":"user","content":"one"},{"role":"assistant","content":"`+answer+`"},{"role":"user","content":"two"}`), chat...)
	apitest.Completed(t, second)
	const header = "X-OpenHands-ServerConversation-ID"
	apitest.Equal(t, "the conversation of the second message", second.Header.Get(header), first.Header.Get(header))
}

// lostChats are chats in a database that does not answer.
type lostChats struct{ chats.Store }

func (lostChats) Load(context.Context, string, int64) ([]byte, int64, error) {
	return nil, 0, fmt.Errorf("load: %w", ledger.ErrAway)
}

// The state directory has no fault: the client may send its request again.
func TestAChatInADatabaseThatIsAwayCanBeAskedForAgain(t *testing.T) {
	t.Parallel()
	kept := &chatstest.Memory{}
	g := apitest.Serve(t, apitest.Script(), func(cfg *daemon.Config) {
		cfg.Shared = &daemon.Shared{Owners: owners.Open(""), Chats: lostChats{kept.Join()}}
	})
	res := g.Chat(apitest.Ask("one"), "X-OpenWebUI-Chat-Id", "11111111-2222-4333-8444-555555555555")
	apitest.Envelope(t, res, 503, "not_ready", "")
	apitest.Equal(t, "Retry-After", res.Header.Get("Retry-After"), "2")
	apitest.Equal(t, "X-Should-Retry", res.Header.Get("X-Should-Retry"), "")
}
