package daemon_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/conversations"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/gate"
)

const operatorKey = "ohgw-operator-key-0123456789"

// withOperator are the tokens of the tests, and one that sees all runs.
type withOperator struct{ tokens }

func (w withOperator) Check(presented string) (gate.Client, error) {
	if presented == operatorKey {
		return gate.Client{ID: "id-operator", Name: "default", Operator: true}, nil
	}
	return w.tokens.Check(presented)
}

// runs lists the runs as a client sees them.
func (g *gateway) runs(bearer string) []conversations.Run {
	g.t.Helper()
	res := g.do(http.MethodGet, "/v1/runs", "", "Authorization", "Bearer "+bearer)
	equal(g.t, "the status", res.status, http.StatusOK)
	var list conversations.RunList
	if err := json.Unmarshal([]byte(res.body), &list); err != nil {
		g.t.Fatal(err)
	}
	equal(g.t, "list.Object", list.Object, "list")
	if list.Data == nil {
		g.t.Errorf("data is null in %s", res.body)
	}
	return list.Data
}

func TestRunsAreListedWhileTheyGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Spend(0.25), daemontest.Hang())
		g := serve(t, b, func(c *daemon.Config) { c.MaxRuns, c.Tokens = 1, withOperator{} })
		begin := func(bearer string) *http.Response {
			res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("a secret plan", streamed), "Authorization", "Bearer "+bearer))
			time.Sleep(time.Second)
			synctest.Wait()
			return res
		}
		first, second := begin(key), begin(otherKey)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		one := conversations.Run{
			Object: "run", Conversation: first.Header.Get(headerID), Model: "openhands_default", Token: "test",
			Status: conversations.RunRunning, Running: 5, Cost: 0.25,
		}
		two := conversations.Run{
			Object: "run", Conversation: second.Header.Get(headerID), Model: "openhands_default", Token: "other",
			Status: conversations.RunWaiting, Place: 1, Waited: 4,
		}
		for bearer, want := range map[string][]conversations.Run{key: {one}, otherKey: {two}, operatorKey: {one, two}, limitedKey: {}} {
			got := g.runs(bearer)
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(conversations.Run{}, "ID", "Created")); diff != "" {
				t.Errorf("of %s: -want +got:\n%s", bearer, diff)
			}
			for _, r := range got {
				if !strings.HasPrefix(r.ID, "chatcmpl-") || r.Created == 0 {
					t.Errorf("the run is %+v", r)
				}
			}
		}
		res := g.do(http.MethodGet, "/v1/runs", "", "Authorization", "Bearer "+operatorKey)
		if strings.Contains(res.body, "secret") {
			t.Errorf("a prompt is in the list: %s", res.body)
		}

		stop := func(bearer, id, want string) {
			t.Helper()
			res := g.do(http.MethodPost, "/v1/conversations/"+id+"/interrupt", "", "Authorization", "Bearer "+bearer)
			contains(t, "the body", res.body, want)
		}
		stop(otherKey, one.Conversation, `"code":"conversation_not_found"`)
		stop(operatorKey, one.Conversation, `"interrupted":true`)
		g.finish(first)
		synctest.Wait()
		stop(operatorKey, two.Conversation, `"interrupted":true`)
		g.finish(second)
		synctest.Wait()
		equal(t, "the runs that go on", len(g.runs(operatorKey)), 0)
	})
}

func TestTheListOfRunsIsGuarded(t *testing.T) {
	t.Parallel()
	g := serve(t, script())
	envelope(t, g.do(http.MethodGet, "/v1/runs", "", "Authorization", ""), http.StatusUnauthorized, "missing_api_key", "")
	envelope(t, g.do(http.MethodGet, "/v1/runs", "", "Authorization", "Bearer nonsense"), http.StatusUnauthorized, "invalid_api_key", "")
	envelope(t, g.do(http.MethodGet, "/v1/runs", "", "Origin", "https://evil.example"), http.StatusForbidden, "forbidden_origin", "")
	envelope(t, g.do(http.MethodPost, "/v1/runs", "{}"), http.StatusMethodNotAllowed, "method_not_allowed", "")
	g = serve(t, script(), func(c *daemon.Config) { c.Tokens, c.NoAuth = nil, true })
	equal(t, "the status without keys", g.do(http.MethodGet, "/v1/runs", "", "Authorization", "").status, http.StatusOK)
}
