package daemon_test

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
	"github.com/ohgw/ohgw/internal/workdir"
)

// withJanitor adds a token that looks after the conversations of others.
func withJanitor(t *testing.T) func(*daemon.Config) {
	state := t.TempDir()
	return func(c *daemon.Config) {
		c.StateDir = state
		c.Tokens = apitest.Rights{
			apitest.JanitorKey:  {ID: "id-janitor", Name: "janitor", AllConversations: true},
			apitest.OperatorKey: {ID: "id-operator", Name: "default", Operator: true, Workspaces: []string{workdir.Any}},
		}
	}
}

func TestATokenForAllConversationsLooksAfterOthers(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t, withJanitor(t))
	g.Backend.Condense = func(context.Context) (agentapi.Condensed, error) { return agentapi.Condensed{Done: true}, nil }
	const path = "/v1/conversations/" + apitest.Conversation
	first := apitest.Responded(t, g.Respond(apitest.Input("two", `"conversation":"`+apitest.Conversation+`"`)))
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
		if res := g.By(apitest.JanitorKey, request[0], request[1], ""); res.Status != http.StatusOK {
			t.Errorf("%s: status = %d, want 200, body = %s", request, res.Status, res.Body)
		}
		if strings.HasSuffix(request[1], "/interrupt") {
			continue // the operator stops runs, too
		}
		if res := g.By(apitest.OperatorKey, request[0], request[1], ""); res.Status != http.StatusNotFound {
			t.Errorf("%s by the default token: %d %s", request, res.Status, res.Body)
		}
	}
	apitest.Completed(t, g.As(apitest.JanitorKey, "openhands_default", "two", apitest.Conversation))
	apitest.Refused(t, g.As(apitest.OperatorKey, "openhands_default", "two", apitest.Conversation))

	// What it adds to the conversation of a token belongs to that token.
	bearer := []string{"Authorization", "Bearer " + apitest.JanitorKey}
	named := apitest.Responded(t, g.Respond(apitest.Input("two", `"conversation":"conv_`+apitest.Conversation+`"`), bearer...))
	next := apitest.Responded(t, g.Respond(apitest.Input("two", `"previous_response_id":"`+named.ID+`"`), bearer...))
	last := apitest.Responded(t, g.Respond(apitest.Input("two", `"previous_response_id":"`+next.ID+`"`)))
	for _, m := range []apitest.Made{named, next, last} {
		apitest.Equal(t, "the conversation", strings.TrimPrefix(m.Conversation.ID, "conv_"), apitest.Conversation)
		for _, bearer := range []string{apitest.Key, apitest.JanitorKey} {
			if res := g.By(bearer, http.MethodGet, "/v1/responses/"+m.ID, ""); res.Status != http.StatusOK {
				t.Errorf("status = %d, want 200, body = %s", res.Status, res.Body)
			}
		}
		if res := g.By(apitest.OtherKey, http.MethodGet, "/v1/responses/"+m.ID, ""); res.Status != http.StatusNotFound {
			t.Errorf("to a third token: %d %s", res.Status, res.Body)
		}
	}

	// What it starts or copies is its own.
	own := apitest.Responded(t, g.Respond(apitest.Input("two"), bearer...))
	copied := apitest.Responded(t, g.Respond(apitest.Input("two", `"previous_response_id":"`+named.ID+`"`), bearer...))
	for _, m := range []apitest.Made{own, copied} {
		apitest.Refused(t, g.As(apitest.Key, "openhands_default", "two", strings.TrimPrefix(m.Conversation.ID, "conv_")))
		if res := g.By(apitest.Key, http.MethodGet, "/v1/responses/"+m.ID, ""); res.Status != http.StatusNotFound {
			t.Errorf("status = %d, want 404, body = %s", res.Status, res.Body)
		}
	}

	if res := g.By(apitest.JanitorKey, http.MethodDelete, "/v1/responses/"+named.ID, ""); res.Status != http.StatusOK {
		t.Errorf("status = %d, want 200, body = %s", res.Status, res.Body)
	}
	if res := g.By(apitest.Key, http.MethodGet, "/v1/responses/"+named.ID, ""); res.Status != http.StatusNotFound {
		t.Errorf("the deleted response: %d %s", res.Status, res.Body)
	}
	if res := g.By(apitest.JanitorKey, http.MethodDelete, path, ""); res.Status != http.StatusOK {
		t.Errorf("status = %d, want 200, body = %s", res.Status, res.Body)
	}
	if res := g.By(apitest.Key, http.MethodGet, path, ""); res.Status != http.StatusNotFound {
		t.Errorf("the deleted conversation: %d %s", res.Status, res.Body)
	}
}

func TestATokenForAllConversationsStopsWhatOthersRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, apitest.Script(daemontest.Say("So far."), daemontest.Hang()), withJanitor(t))
		running := apitest.Responded(t, g.Respond(apitest.Input("work", `"background":true`)))
		synctest.Wait()
		apitest.Equal(t, "runs", len(g.Runs(apitest.JanitorKey)), 1)
		apitest.Equal(t, "runs of a third token", len(g.Runs(apitest.OtherKey)), 0)
		stopped := apitest.Object(t, []byte(g.By(apitest.JanitorKey, http.MethodPost, "/v1/responses/"+running.ID+"/cancel", "").Body))
		apitest.Equal(t, "the response", stopped.Status, "cancelled")

		again := apitest.Responded(t, g.Respond(apitest.Input("again", `"background":true`)))
		synctest.Wait()
		res := g.By(apitest.JanitorKey, http.MethodPost, "/v1/conversations/"+again.Conversation.ID+"/interrupt", "")
		apitest.Contains(t, "the body", res.Body, `"interrupted":true`)
	})
}

// A conversation that was created stays the token's that created it, also if another
// one sends its first message.
func TestATokenForAllConversationsBeginsThoseOfOthers(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("ok")), withJanitor(t))
	id := g.Do(http.MethodPost, "/v1/conversations", `{}`).Header.Get(apitest.HeaderID)
	apitest.Contains(t, "an interrupt of nothing", g.Do(http.MethodPost, "/v1/conversations/"+id+"/interrupt", "").Body, `"interrupted":false`)
	apitest.Refused(t, g.As(apitest.OtherKey, "openhands_default", "hi", id))
	apitest.Completed(t, g.As(apitest.JanitorKey, "openhands_default", "hi", id))
	apitest.Completed(t, g.As(apitest.Key, "openhands_default", "hi", id))
	apitest.Refused(t, g.As(apitest.OtherKey, "openhands_default", "hi", id))
}

// The rights of other tokens in a conversation without an owner stay the same after
// this token was in it.
func TestATokenForAllConversationsTakesNothingAway(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("ok")), withJanitor(t))
	conv, err := g.Backend.Open(t.Context(), agentapi.OpenRequest{ID: apitest.Conversation, Profile: "default"})
	if err != nil {
		t.Fatal(err)
	}
	if err := conv.Close(); err != nil {
		t.Fatal(err)
	}
	for _, bearer := range []string{apitest.JanitorKey, apitest.Key, apitest.OtherKey} {
		apitest.Completed(t, g.As(bearer, "openhands_default", "hi", apitest.Conversation))
	}
	apitest.Refused(t, g.As(apitest.ActiveKey, "openhands", "hi", apitest.Conversation))
}

// withFloors adds tokens whose agents must ask.
func withFloors(t *testing.T) func(*daemon.Config) {
	state := t.TempDir()
	return func(c *daemon.Config) {
		c.StateDir = state
		c.Tokens = apitest.Rights{
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
				g := apitest.Serve(t, apitest.Script(daemontest.Finish("ok")), change...)
				for i, step := range tt.steps {
					runs := g.Backend.Runs()
					res := g.Speak(api, step.bearer, apitest.HeaderConfirmation, step.mode)
					if step.forbidden {
						apitest.Envelope(t, res, http.StatusForbidden, "forbidden_confirmation", apitest.HeaderConfirmation)
						apitest.Equal(t, "runs of a refused request", g.Backend.Runs()-runs, 0)
					} else {
						apitest.Equal(t, "the status", res.Status, http.StatusOK)
					}
					if got := g.Backend.Confirmation(apitest.Conversation); got != step.want {
						t.Errorf("the mode after request %d is %q, want %q", i, got, step.want)
					}
				}
			})
		}
	}
}

// A mode that asks less than its name says is set again.
func TestAPolicyThatAsksLessIsReplaced(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("ok"))
	b.Policy = `{"kind":"ConfirmRisky","confirm_unknown":false}`
	g := apitest.Serve(t, b, withFloors(t))
	apitest.Completed(t, g.As(riskyKey, "openhands_default", "hi", apitest.Conversation))
	if got := b.Confirmation(apitest.Conversation); got != agentapi.ConfirmRisky {
		t.Errorf("the mode is %q", got)
	}
}

func TestABackendWithoutConfirmationModesRunsNothingForAFloor(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("ok"))
	b.NoConfirm = true
	g := apitest.Serve(t, b, withFloors(t))
	for _, api := range []string{"chat", "responses"} {
		apitest.Envelope(t, g.Speak(api, riskyKey), http.StatusForbidden, "forbidden_confirmation", apitest.HeaderConfirmation)
	}
	apitest.Equal(t, "runs", b.Runs(), 0)
	apitest.Completed(t, g.As(freeKey, "openhands_default", "hi", apitest.Conversation))
}

func TestHealthSaysTheModesOfTheToken(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(), withFloors(t))
	for bearer, want := range map[string]string{
		riskyKey: `"confirmation":{"mode":"risky","lower":false}`, freeKey: `"confirmation":{"mode":"","lower":true}`,
		trustedKey: `"confirmation":{"mode":"risky","lower":false}`, apitest.Key: `"confirmation":{"mode":"","lower":false}`,
	} {
		apitest.Contains(t, "health", g.By(bearer, http.MethodGet, "/v1/health", "").Body, want)
	}
}
