package conversations_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/workdir"
)

const (
	grants     = "/v1/conversations/" + apitest.Conversation + "/sandbox/grants"
	grantBody  = `{"access":"net","target":"api.example.com:443","scope":"workspace"}`
	flooredKey = "ohgw-floored-key-0123456789"
)

// sandboxed is a gateway whose agents have a sandbox, with a conversation of the
// token that may choose directories.
func sandboxed(t *testing.T) (*apitest.Gateway, *daemontest.Sandboxed) {
	t.Helper()
	b := &daemontest.Sandboxed{Backend: apitest.Script(daemontest.Finish("ok")), Box: agentapi.SandboxStatus{
		Level: "reduced", Reason: "the system forbids namespaces", Fix: "ohgw doctor", Landlock: 7, Open: []string{"network: proxy.example.com"},
	}}
	g := apitest.Serve(t, b.Backend, func(c *daemon.Config) {
		c.Backend = b
		c.Tokens = apitest.Rights{
			apitest.Key:        {ID: "id-test", Workspaces: []string{workdir.Any}, AllConversations: true},
			flooredKey:         {ID: "id-floored", Workspaces: []string{workdir.Any}, Confirm: agentapi.ConfirmRisky, AllConversations: true},
			apitest.JanitorKey: {ID: "id-janitor", AllConversations: true},
		}
	})
	apitest.Completed(t, g.Chat(apitest.Ask("hi"), apitest.HeaderID, apitest.Conversation))
	return g, b
}

func TestAGrantReachesTheSandbox(t *testing.T) {
	t.Parallel()
	g, b := sandboxed(t)
	res := g.Do(http.MethodPost, grants, grantBody)
	apitest.Equal(t, "answer", res.Body, `{"id":"`+apitest.Conversation+`","object":"conversation.sandbox.grant","access":"net","target":"api.example.com:443","scope":"workspace"}`+"\n")
	if diff := cmp.Diff([]agentapi.Grant{{Access: "net", Target: "api.example.com:443", Scope: agentapi.GrantWorkspace}}, b.Granted()); diff != "" {
		t.Error(diff)
	}
	b.Refuse = &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "This address is never reached."}
	apitest.Contains(t, "message", apitest.Envelope(t, g.Do(http.MethodPost, grants, grantBody), http.StatusBadRequest, "invalid_value", "target")["message"].(string), "never reached")
	b.Refuse = &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "The sandbox is off."}
	apitest.Envelope(t, g.Do(http.MethodPost, grants, grantBody), http.StatusNotImplemented, "sandbox_grants_unsupported", "")
}

func TestOnlyWhoMayChooseDirectoriesMayGrant(t *testing.T) {
	t.Parallel()
	g, b := sandboxed(t)
	for _, bearer := range []string{apitest.JanitorKey, flooredKey} {
		apitest.Envelope(t, g.By(bearer, http.MethodPost, grants, grantBody), http.StatusForbidden, "forbidden_sandbox_grant", "")
	}
	apitest.Envelope(t, g.Do(http.MethodPost, grants, grantBody, "Sec-Fetch-Site", "same-origin"), http.StatusForbidden, "forbidden_sandbox_grant", "")
	apitest.Envelope(t, g.By(apitest.OtherKey, http.MethodPost, grants, grantBody), http.StatusNotFound, "conversation_not_found", "id")
	apitest.Envelope(t, g.Do(http.MethodPost, strings.Replace(grants, apitest.Conversation, "0198c9d2-0000-4b1c-8e3d-4f5a6b7c8d9e", 1), grantBody), http.StatusNotFound, "conversation_not_found", "id")
	if n := len(b.Granted()); n != 0 {
		t.Errorf("%d grants", n)
	}
}

func TestAnAgentServerTakesNoGrants(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("ok")), apitest.MayChoose(workdir.Any))
	apitest.Completed(t, g.Chat(apitest.Ask("hi"), apitest.HeaderID, apitest.Conversation))
	apitest.Envelope(t, g.Do(http.MethodPost, grants, grantBody), http.StatusNotImplemented, "sandbox_grants_unsupported", "")
}

func TestABadGrantIsRefused(t *testing.T) {
	t.Parallel()
	g, b := sandboxed(t)
	for body, want := range map[string][2]string{
		`[]`: {"invalid_type", ""},
		`{"target":"a.example.com","scope":"once"}`:                                              {"missing_required_parameter", "access"},
		`{"access":"net","scope":"once"}`:                                                        {"missing_required_parameter", "target"},
		`{"access":"net","target":"a.example.com"}`:                                              {"missing_required_parameter", "scope"},
		`{"access":"all","target":"a.example.com","scope":"once"}`:                               {"invalid_value", "access"},
		`{"access":"net","target":"a.example.com","scope":"always"}`:                             {"invalid_value", "scope"},
		`{"access":"net","target":" ","scope":"once"}`:                                           {"invalid_value", "target"},
		`{"access":"net","target":7,"scope":"once"}`:                                             {"invalid_type", "target"},
		`{"access":"net","target":"a\nb","scope":"once"}`:                                        {"invalid_value", "target"},
		`{"access":"net","target":"a\u202eb","scope":"once"}`:                                    {"invalid_value", "target"},
		`{"access":"read","target":"/` + strings.Repeat("x", 5000) + `","scope":"once"}`:         {"invalid_value", "target"},
		`{"access":"net","target":"a.example.com","scope":"once","until":"2030-01-01T00:00:00"}`: {"unsupported_parameter", "until"},
	} {
		apitest.Envelope(t, g.Do(http.MethodPost, grants, body), http.StatusBadRequest, want[0], want[1])
	}
	if n := len(b.Granted()); n != 0 {
		t.Errorf("%d grants", n)
	}
}

func TestTheSandboxIsShown(t *testing.T) {
	t.Parallel()
	g, _ := sandboxed(t)
	res := g.Do(http.MethodGet, "/healthz", "")
	apitest.Contains(t, "health", res.Body, `"sandbox":{"level":"reduced","reason":"the system forbids namespaces","fix":"ohgw doctor","landlock":7,"open":["network: proxy.example.com"]}`)
	apitest.Equal(t, "header", res.Header.Get("X-OpenHands-Sandbox"), "reduced")
	apitest.Equal(t, "header", g.Chat(apitest.Ask("hi")).Header.Get("X-OpenHands-Sandbox"), "reduced")
	apitest.Lacks(t, "without a key", g.Do(http.MethodGet, "/healthz", "", "Authorization", "").Body, "sandbox")
}
