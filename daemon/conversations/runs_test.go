package conversations_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/conversations"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/gate"
)

// withOperator are the tokens of the tests, and one that sees all runs.
type withOperator struct{ apitest.Tokens }

func (w withOperator) Check(presented string) (gate.Client, error) {
	if presented == apitest.OperatorKey {
		return gate.Client{ID: "id-operator", Name: "default", Operator: true}, nil
	}
	return w.Tokens.Check(presented)
}

func TestRunsAreListedWhileTheyGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Spend(0.25), daemontest.Hang())
		g := apitest.Serve(t, b, func(c *daemon.Config) { c.MaxRuns, c.Tokens = 1, withOperator{} })
		begin := func(bearer string) *http.Response {
			res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("a secret plan", apitest.Streamed), "Authorization", "Bearer "+bearer))
			time.Sleep(time.Second)
			synctest.Wait()
			return res
		}
		first, second := begin(apitest.Key), begin(apitest.OtherKey)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		one := conversations.Run{
			Object: "run", Conversation: first.Header.Get(apitest.HeaderID), Model: "openhands_default", Token: "test",
			Status: conversations.RunRunning, Running: 5, Cost: 0.25,
		}
		two := conversations.Run{
			Object: "run", Conversation: second.Header.Get(apitest.HeaderID), Model: "openhands_default", Token: "other",
			Status: conversations.RunWaiting, Place: 1, Waited: 4,
		}
		for bearer, want := range map[string][]conversations.Run{apitest.Key: {one}, apitest.OtherKey: {two}, apitest.OperatorKey: {one, two}, apitest.LimitedKey: {}} {
			got := g.Runs(bearer)
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(conversations.Run{}, "ID", "Created")); diff != "" {
				t.Errorf("of %s: -want +got:\n%s", bearer, diff)
			}
			for _, r := range got {
				if !strings.HasPrefix(r.ID, "chatcmpl-") || r.Created == 0 {
					t.Errorf("the run is %+v", r)
				}
			}
		}
		res := g.Do(http.MethodGet, "/v1/runs", "", "Authorization", "Bearer "+apitest.OperatorKey)
		if strings.Contains(res.Body, "secret") {
			t.Errorf("a prompt is in the list: %s", res.Body)
		}

		stop := func(bearer, id, want string) {
			t.Helper()
			res := g.Do(http.MethodPost, "/v1/conversations/"+id+"/interrupt", "", "Authorization", "Bearer "+bearer)
			apitest.Contains(t, "the body", res.Body, want)
		}
		stop(apitest.OtherKey, one.Conversation, `"code":"conversation_not_found"`)
		stop(apitest.OperatorKey, one.Conversation, `"interrupted":true`)
		g.Finish(first)
		synctest.Wait()
		stop(apitest.OperatorKey, two.Conversation, `"interrupted":true`)
		g.Finish(second)
		synctest.Wait()
		apitest.Equal(t, "the runs that go on", len(g.Runs(apitest.OperatorKey)), 0)
	})
}

func TestTheListOfRunsIsGuarded(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script())
	apitest.Envelope(t, g.Do(http.MethodGet, "/v1/runs", "", "Authorization", ""), http.StatusUnauthorized, "missing_api_key", "")
	apitest.Envelope(t, g.Do(http.MethodGet, "/v1/runs", "", "Authorization", "Bearer nonsense"), http.StatusUnauthorized, "invalid_api_key", "")
	apitest.Envelope(t, g.Do(http.MethodGet, "/v1/runs", "", "Origin", "https://evil.example"), http.StatusForbidden, "forbidden_origin", "")
	apitest.Envelope(t, g.Do(http.MethodPost, "/v1/runs", "{}"), http.StatusMethodNotAllowed, "method_not_allowed", "")
	g = apitest.Serve(t, apitest.Script(), func(c *daemon.Config) { c.Tokens, c.NoAuth = nil, true })
	apitest.Equal(t, "the status without keys", g.Do(http.MethodGet, "/v1/runs", "", "Authorization", "").Status, http.StatusOK)
}
