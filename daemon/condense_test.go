package daemon_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

func (g *gateway) condense(header ...string) response {
	g.t.Helper()
	return g.do(http.MethodPost, "/v1/conversations/"+conversation+"/condense", "", header...)
}

func TestAConversationIsCondensed(t *testing.T) {
	t.Parallel()
	g := talked(t)
	for want, done := range map[string]agentapi.Condensed{
		`{"id":"conv_` + conversation + `","object":"conversation.condense","condensed":true,"context":{"tokens_before":5000,"tokens":1000}}`: {Done: true, Before: 5000, After: 1000},
		`{"id":"conv_` + conversation + `","object":"conversation.condense","condensed":true}`:                                                {Done: true},
		`{"id":"conv_` + conversation + `","object":"conversation.condense","condensed":false}`:                                               {},
	} {
		g.backend.Condense = func(context.Context) (agentapi.Condensed, error) { return done, nil }
		equal(t, "the body", strings.TrimSpace(g.condense().body), want)
	}
}

func TestWhyAConversationIsNotCondensed(t *testing.T) {
	t.Parallel()
	g := talked(t)
	for code, failure := range map[string]struct {
		status int
		kind   error
	}{
		"condenser_unavailable":  {http.StatusConflict, agentapi.ErrUnsupported},
		"agent_server_error":     {http.StatusBadGateway, agentapi.ErrRefused},
		"conversation_busy":      {http.StatusTooManyRequests, agentapi.ErrBusy},
		"conversation_not_found": {http.StatusNotFound, agentapi.ErrConversationNotFound},
	} {
		g.backend.Condense = func(context.Context) (agentapi.Condensed, error) {
			return agentapi.Condensed{}, &agentapi.Error{Kind: failure.kind, Msg: "Why it cannot."}
		}
		param := ""
		if code == "conversation_not_found" {
			param = "id"
		}
		envelope(t, g.condense(), failure.status, code, param)
	}
}

// Only the owner of a conversation can have it summarized.
func TestAConversationIsCondensedByItsOwner(t *testing.T) {
	t.Parallel()
	g := talked(t, func(c *daemon.Config) { c.StateDir = t.TempDir() })
	g.backend.Condense = func(context.Context) (agentapi.Condensed, error) {
		t.Error("it was summarized")
		return agentapi.Condensed{}, nil
	}
	envelope(t, g.condense("Authorization", "Bearer "+otherKey), http.StatusNotFound, "conversation_not_found", "id")
}

func TestARunningConversationIsNotCondensed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, script(daemontest.Say("So far."), daemontest.Hang()))
		res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("go", streamed), headerID, conversation))
		synctest.Wait()
		envelope(t, g.condense(), http.StatusTooManyRequests, "conversation_busy", "")
		if n := g.backend.Interrupts(); n != 0 {
			t.Errorf("%d interrupts", n)
		}
		g.do(http.MethodPost, "/v1/conversations/"+conversation+"/interrupt", "")
		g.finish(res)
	})
}

// A message that comes during a condensation waits for it, and a second
// condensation is refused.
func TestAMessageWaitsForACondensation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := talked(t)
		end := make(chan struct{})
		g.backend.Condense = func(context.Context) (agentapi.Condensed, error) {
			<-end
			return agentapi.Condensed{Done: true}, nil
		}
		condensed, asked := make(chan response, 1), make(chan response, 1)
		go func() { condensed <- g.condense() }()
		synctest.Wait()
		go func() { asked <- g.as(key, "openhands_default", "two", conversation) }()
		synctest.Wait()
		if n := g.backend.Runs(); n != 2 {
			t.Errorf("%d runs during the condensation", n)
		}
		envelope(t, g.condense(), http.StatusTooManyRequests, "conversation_busy", "")
		close(end)
		equal(t, "the status", (<-condensed).status, http.StatusOK)
		completed(t, <-asked)
	})
}
