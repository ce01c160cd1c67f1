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
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/workdir"
)

// rights are the tokens of the tests, and some more.
type rights map[string]gate.Client

func (r rights) Check(presented string) (gate.Client, error) {
	if client, ok := r[presented]; ok {
		return client, nil
	}
	return tokens{}.Check(presented)
}

const janitorKey = "ohgw-janitor-key-0123456789"

// withJanitor adds a token that looks after the conversations of others.
func withJanitor(t *testing.T) func(*daemon.Config) {
	state := t.TempDir()
	return func(c *daemon.Config) {
		c.StateDir = state
		c.Tokens = rights{
			janitorKey:  {ID: "id-janitor", Name: "janitor", AllConversations: true},
			operatorKey: {ID: "id-operator", Name: "default", Operator: true, Workspaces: []string{workdir.Any}},
		}
	}
}

// by makes a request with a key.
func (g *gateway) by(bearer, method, path, body string, header ...string) response {
	g.t.Helper()
	return g.do(method, path, body, append([]string{"Authorization", "Bearer " + bearer}, header...)...)
}

func TestATokenForAllConversationsLooksAfterOthers(t *testing.T) {
	t.Parallel()
	g := talked(t, withJanitor(t))
	g.backend.Condense = func(context.Context) (agentapi.Condensed, error) { return agentapi.Condensed{Done: true}, nil }
	const path = "/v1/conversations/" + conversation
	first := responded(t, g.respond(input("two", `"conversation":"`+conversation+`"`)))
	for _, request := range [][2]string{
		{http.MethodGet, path},
		{http.MethodGet, path + "/items"},
		{http.MethodGet, path + "/extensions"},
		{http.MethodPost, path + "/condense"},
		{http.MethodPost, path + "/interrupt"},
		{http.MethodGet, "/v1/responses/" + first.ID},
		{http.MethodGet, "/v1/responses/" + first.ID + "/input_items"},
		{http.MethodPost, "/v1/responses/" + first.ID + "/cancel"},
	} {
		if res := g.by(janitorKey, request[0], request[1], ""); res.status != http.StatusOK {
			t.Errorf("%s: %d %s", request, res.status, res.body)
		}
		if strings.HasSuffix(request[1], "/interrupt") {
			continue // the operator stops runs, too
		}
		if res := g.by(operatorKey, request[0], request[1], ""); res.status != http.StatusNotFound {
			t.Errorf("%s by the default token: %d %s", request, res.status, res.body)
		}
	}
	completed(t, g.as(janitorKey, "openhands_default", "two", conversation))
	refused(t, g.as(operatorKey, "openhands_default", "two", conversation))

	// What it adds to the conversation of a token belongs to that token.
	bearer := []string{"Authorization", "Bearer " + janitorKey}
	named := responded(t, g.respond(input("two", `"conversation":"conv_`+conversation+`"`), bearer...))
	next := responded(t, g.respond(input("two", `"previous_response_id":"`+named.ID+`"`), bearer...))
	last := responded(t, g.respond(input("two", `"previous_response_id":"`+next.ID+`"`)))
	for _, m := range []made{named, next, last} {
		equal(t, "the conversation", strings.TrimPrefix(m.Conversation.ID, "conv_"), conversation)
		for _, bearer := range []string{key, janitorKey} {
			if res := g.by(bearer, http.MethodGet, "/v1/responses/"+m.ID, ""); res.status != http.StatusOK {
				t.Errorf("%d %s", res.status, res.body)
			}
		}
		if res := g.by(otherKey, http.MethodGet, "/v1/responses/"+m.ID, ""); res.status != http.StatusNotFound {
			t.Errorf("to a third token: %d %s", res.status, res.body)
		}
	}

	// What it starts or copies is its own.
	own := responded(t, g.respond(input("two"), bearer...))
	copied := responded(t, g.respond(input("two", `"previous_response_id":"`+named.ID+`"`), bearer...))
	for _, m := range []made{own, copied} {
		refused(t, g.as(key, "openhands_default", "two", strings.TrimPrefix(m.Conversation.ID, "conv_")))
		if res := g.by(key, http.MethodGet, "/v1/responses/"+m.ID, ""); res.status != http.StatusNotFound {
			t.Errorf("%d %s", res.status, res.body)
		}
	}

	if res := g.by(janitorKey, http.MethodDelete, "/v1/responses/"+named.ID, ""); res.status != http.StatusOK {
		t.Errorf("%d %s", res.status, res.body)
	}
	if res := g.by(key, http.MethodGet, "/v1/responses/"+named.ID, ""); res.status != http.StatusNotFound {
		t.Errorf("the deleted response: %d %s", res.status, res.body)
	}
	if res := g.by(janitorKey, http.MethodDelete, path, ""); res.status != http.StatusOK {
		t.Errorf("%d %s", res.status, res.body)
	}
	if res := g.by(key, http.MethodGet, path, ""); res.status != http.StatusNotFound {
		t.Errorf("the deleted conversation: %d %s", res.status, res.body)
	}
}

func TestATokenForAllConversationsStopsWhatOthersRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, script(daemontest.Say("So far."), daemontest.Hang()), withJanitor(t))
		running := responded(t, g.respond(input("work", `"background":true`)))
		synctest.Wait()
		equal(t, "runs", len(g.runs(janitorKey)), 1)
		equal(t, "runs of a third token", len(g.runs(otherKey)), 0)
		stopped := object(t, []byte(g.by(janitorKey, http.MethodPost, "/v1/responses/"+running.ID+"/cancel", "").body))
		equal(t, "the response", stopped.Status, "cancelled")

		again := responded(t, g.respond(input("again", `"background":true`)))
		synctest.Wait()
		res := g.by(janitorKey, http.MethodPost, "/v1/conversations/"+again.Conversation.ID+"/interrupt", "")
		contains(t, "the body", res.body, `"interrupted":true`)
	})
}

// A conversation that was created stays the token's that created it, also if another
// one sends its first message.
func TestATokenForAllConversationsBeginsThoseOfOthers(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Finish("ok")), withJanitor(t))
	id := g.do(http.MethodPost, "/v1/conversations", `{}`).header.Get(headerID)
	contains(t, "an interrupt of nothing", g.do(http.MethodPost, "/v1/conversations/"+id+"/interrupt", "").body, `"interrupted":false`)
	refused(t, g.as(otherKey, "openhands_default", "hi", id))
	completed(t, g.as(janitorKey, "openhands_default", "hi", id))
	completed(t, g.as(key, "openhands_default", "hi", id))
	refused(t, g.as(otherKey, "openhands_default", "hi", id))
}

// The rights of other tokens in a conversation without an owner stay the same after
// this token was in it.
func TestATokenForAllConversationsTakesNothingAway(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Finish("ok")), withJanitor(t))
	conv, err := g.backend.Open(t.Context(), agentapi.OpenRequest{ID: conversation, Profile: "default"})
	if err != nil {
		t.Fatal(err)
	}
	if err := conv.Close(); err != nil {
		t.Fatal(err)
	}
	for _, bearer := range []string{janitorKey, key, otherKey} {
		completed(t, g.as(bearer, "openhands_default", "hi", conversation))
	}
	refused(t, g.as(activeKey, "openhands", "hi", conversation))
}

// withFloors adds tokens whose agents must ask.
func withFloors(t *testing.T) func(*daemon.Config) {
	state := t.TempDir()
	return func(c *daemon.Config) {
		c.StateDir = state
		c.Tokens = rights{
			riskyKey:   {ID: "id-risky", Name: "risky", Confirm: agentapi.ConfirmRisky},
			alwaysKey:  {ID: "id-always", Name: "always", Confirm: agentapi.ConfirmAlways, AllConversations: true},
			trustedKey: {ID: "id-trusted", Name: "trusted", Confirm: agentapi.ConfirmRisky, Workspaces: []string{workdir.Any}},
			freeKey:    {ID: "id-free", Name: "free", Workspaces: []string{workdir.Any}, AllConversations: true},
		}
	}
}

const (
	riskyKey   = "ohgw-risky-key-0123456789"
	alwaysKey  = "ohgw-always-key-0123456789"
	trustedKey = "ohgw-trusted-key-0123456789"
	freeKey    = "ohgw-free-key-0123456789"
)

// modeStep is a request, and the mode of the conversation after it.
type modeStep struct {
	bearer, mode string
	want         agentapi.Confirmation
	forbidden    bool
}

func TestTheConfirmationModeIsNotBelowThatOfTheToken(t *testing.T) {
	t.Parallel()
	const never, risky, always = agentapi.ConfirmNever, agentapi.ConfirmRisky, agentapi.ConfirmAlways
	server := func(mode agentapi.Confirmation) func(*daemon.Config) {
		return func(c *daemon.Config) { c.Confirm = mode }
	}
	for name, tt := range map[string]struct {
		change func(*daemon.Config)
		steps  []modeStep
	}{
		"a new conversation is raised":        {steps: []modeStep{{riskyKey, "", risky, false}}},
		"a request raises it further":         {steps: []modeStep{{riskyKey, "always", always, false}, {riskyKey, "", always, false}}},
		"a request below it is refused":       {steps: []modeStep{{riskyKey, "never", "", true}, {alwaysKey, "risky", "", true}}},
		"a trusted key is bound, too":         {steps: []modeStep{{trustedKey, "never", "", true}, {trustedKey, "always", always, false}, {trustedKey, "risky", risky, false}, {trustedKey, "never", risky, true}}},
		"another's conversation is raised":    {steps: []modeStep{{freeKey, "never", never, false}, {alwaysKey, "", always, false}}},
		"and raised again":                    {steps: []modeStep{{freeKey, "", never, false}, {alwaysKey, "", always, false}, {freeKey, "never", never, false}, {alwaysKey, "", always, false}}},
		"the server's floor is the higher":    {server(always), []modeStep{{riskyKey, "always", always, false}, {riskyKey, "risky", always, true}, {riskyKey, "", always, false}}},
		"the token's floor is the higher":     {server(never), []modeStep{{riskyKey, "always", always, false}, {riskyKey, "risky", risky, false}, {riskyKey, "never", risky, true}}},
		"without a floor nothing is touched":  {steps: []modeStep{{freeKey, "", never, false}}},
		"no floor of the server stays strict": {steps: []modeStep{{riskyKey, "always", always, false}, {riskyKey, "risky", always, true}}},
	} {
		for _, api := range []string{"chat", "responses"} {
			t.Run(name+" by "+api, func(t *testing.T) {
				t.Parallel()
				change := []func(*daemon.Config){withFloors(t)}
				if tt.change != nil {
					change = append(change, tt.change)
				}
				g := serve(t, script(daemontest.Finish("ok")), change...)
				for i, step := range tt.steps {
					runs := g.backend.Runs()
					res := g.speak(api, step.bearer, headerConfirmation, step.mode)
					if step.forbidden {
						envelope(t, res, http.StatusForbidden, "forbidden_confirmation", headerConfirmation)
						equal(t, "runs of a refused request", g.backend.Runs()-runs, 0)
					} else {
						equal(t, "the status", res.status, http.StatusOK)
					}
					if got := g.backend.Confirmation(conversation); got != step.want {
						t.Errorf("the mode after request %d is %q, want %q", i, got, step.want)
					}
				}
			})
		}
	}
}

// speak says something in the conversation by one of the APIs.
func (g *gateway) speak(api, bearer string, header ...string) response {
	g.t.Helper()
	header = append([]string{"Authorization", "Bearer " + bearer, "X-OpenHands-Repeat", "run"}, header...)
	if api == "responses" {
		return g.respond(input("hi", `"conversation":"`+conversation+`"`), header...)
	}
	return g.chat(ask("hi"), append(header, headerID, conversation)...)
}

// A mode that asks less than its name says is set again.
func TestAPolicyThatAsksLessIsReplaced(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish("ok"))
	b.Policy = `{"kind":"ConfirmRisky","confirm_unknown":false}`
	g := serve(t, b, withFloors(t))
	completed(t, g.as(riskyKey, "openhands_default", "hi", conversation))
	if got := b.Confirmation(conversation); got != agentapi.ConfirmRisky {
		t.Errorf("the mode is %q", got)
	}
}

func TestABackendWithoutConfirmationModesRunsNothingForAFloor(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish("ok"))
	b.NoConfirm = true
	g := serve(t, b, withFloors(t))
	for _, api := range []string{"chat", "responses"} {
		envelope(t, g.speak(api, riskyKey), http.StatusForbidden, "forbidden_confirmation", headerConfirmation)
	}
	equal(t, "runs", b.Runs(), 0)
	completed(t, g.as(freeKey, "openhands_default", "hi", conversation))
}

func TestHealthSaysTheModesOfTheToken(t *testing.T) {
	t.Parallel()
	g := serve(t, script(), withFloors(t))
	for bearer, want := range map[string]string{
		riskyKey: `"confirmation":{"mode":"risky","lower":false}`, freeKey: `"confirmation":{"mode":"","lower":true}`,
		trustedKey: `"confirmation":{"mode":"risky","lower":false}`, key: `"confirmation":{"mode":"","lower":false}`,
	} {
		contains(t, "health", g.by(bearer, http.MethodGet, "/v1/health", "").body, want)
	}
}
