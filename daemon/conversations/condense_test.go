package conversations_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

func TestAConversationIsCondensed(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t)
	for want, done := range map[string]agentapi.Condensed{
		`{"id":"conv_` + apitest.Conversation + `","object":"conversation.condense","condensed":true,"context":{"tokens_before":5000,"tokens":1000}}`: {Done: true, Before: 5000, After: 1000},
		`{"id":"conv_` + apitest.Conversation + `","object":"conversation.condense","condensed":true}`:                                                {Done: true},
		`{"id":"conv_` + apitest.Conversation + `","object":"conversation.condense","condensed":false}`:                                               {},
	} {
		g.Backend.Condense = func(context.Context) (agentapi.Condensed, error) { return done, nil }
		apitest.Equal(t, "the body", strings.TrimSpace(g.Condense().Body), want)
	}
}

func TestWhyAConversationIsNotCondensed(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t)
	for code, failure := range map[string]struct {
		status int
		kind   error
	}{
		"condenser_unavailable":  {http.StatusConflict, agentapi.ErrUnsupported},
		"agent_server_error":     {http.StatusBadGateway, agentapi.ErrRefused},
		"conversation_busy":      {http.StatusTooManyRequests, agentapi.ErrBusy},
		"conversation_not_found": {http.StatusNotFound, agentapi.ErrConversationNotFound},
	} {
		g.Backend.Condense = func(context.Context) (agentapi.Condensed, error) {
			return agentapi.Condensed{}, &agentapi.Error{Kind: failure.kind, Msg: "Why it cannot."}
		}
		param := ""
		if code == "conversation_not_found" {
			param = "id"
		}
		apitest.Envelope(t, g.Condense(), failure.status, code, param)
	}
}

// Only the owner of a conversation can have it summarized.
func TestAConversationIsCondensedByItsOwner(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t, func(c *daemon.Config) { c.StateDir = t.TempDir() })
	g.Backend.Condense = func(context.Context) (agentapi.Condensed, error) {
		t.Error("it was summarized")
		return agentapi.Condensed{}, nil
	}
	apitest.Envelope(t, g.Condense("Authorization", "Bearer "+apitest.OtherKey), http.StatusNotFound, "conversation_not_found", "id")
}

func TestARunningConversationIsNotCondensed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, apitest.Script(daemontest.Say("So far."), daemontest.Hang()))
		res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed), apitest.HeaderID, apitest.Conversation))
		synctest.Wait()
		apitest.Envelope(t, g.Condense(), http.StatusTooManyRequests, "conversation_busy", "")
		if n := g.Backend.Interrupts(); n != 0 {
			t.Errorf("%d interrupts", n)
		}
		g.Do(http.MethodPost, "/v1/conversations/"+apitest.Conversation+"/interrupt", "")
		g.Finish(res)
	})
}

// A message that comes during a condensation waits for it, and a second
// condensation is refused.
func TestAMessageWaitsForACondensation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Talked(t)
		end := make(chan struct{})
		g.Backend.Condense = func(context.Context) (agentapi.Condensed, error) {
			<-end
			return agentapi.Condensed{Done: true}, nil
		}
		condensed, asked := make(chan apitest.Response, 1), make(chan apitest.Response, 1)
		go func() { condensed <- g.Condense() }()
		synctest.Wait()
		go func() { asked <- g.As(apitest.Key, "openhands_default", "two", apitest.Conversation) }()
		synctest.Wait()
		if n := g.Backend.Runs(); n != 2 {
			t.Errorf("%d runs during the condensation", n)
		}
		apitest.Envelope(t, g.Condense(), http.StatusTooManyRequests, "conversation_busy", "")
		close(end)
		apitest.Equal(t, "the status", (<-condensed).Status, http.StatusOK)
		apitest.Completed(t, <-asked)
	})
}
