//go:build e2e

package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/oauthtest"
)

// TestALoginToAnMCPServer goes the way of the agent canvas: begin, log in by a browser,
// store the login, and talk to an agent that uses the server.
func TestALoginToAnMCPServer(t *testing.T) {
	t.Parallel()
	llm, as := llmtest.New(t), oauthtest.New(t)
	g := serveEmbedded(t, racyProgram(t), llm.URL, "--native", "--sandbox", "off")
	key := []string{"X-Session-API-Key", gatewayKey, "Content-Type", "application/json"}
	server := func(state string) string {
		return `{"url":"` + as.MCP + `","auth":{"strategy":"oauth2"` + state + `}}`
	}
	type progress struct {
		ID     string          `json:"job_id"`
		Page   string          `json:"authorization_url"`
		Status string          `json:"status"`
		State  json.RawMessage `json:"oauth_state"`
	}
	var told progress
	read := func(res *http.Response) {
		t.Helper()
		told = progress{}
		if body := bodyOf(t, res); json.Unmarshal([]byte(body), &told) != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("status = %s, body %s", res.Status, body)
		}
	}
	read(send(t, http.MethodPost, g.URL+"/api/mcp/oauth/start", `{"name":"srv","server":`+server("")+`}`, key...))
	back, err := oauthtest.Visit(t.Context(), told.Page)
	if err != nil {
		t.Fatal(err)
	}
	const page = "/mcp/oauth/callback"
	if back.Path != page || back.Hostname() != "localhost" || !strings.HasSuffix(g.URL, ":"+back.Port()) {
		t.Fatalf("the browser is sent to %s%s", back.Host, back.Path)
	}
	for name, stranger := range map[string][]string{
		"a frame":          {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
		"a script":         {"Origin", "https://attacker.example"},
		"a rebinding name": {"Host", "attacker.example"},
	} {
		if res := send(t, http.MethodGet, g.URL+back.RequestURI(), "", stranger...); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status = %s", name, res.Status)
		}
	}
	browser := []string{"Host", back.Host, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	for path, want := range map[string]int{page: 400, page + "?code=x&state=x": 400, page + "/x": 403, "/api/settings": 403} {
		if res := send(t, http.MethodGet, g.URL+path, "", browser...); res.StatusCode != want {
			t.Errorf("%s: status = %s", path, res.Status)
		}
	}
	for _, want := range []int{http.StatusOK, http.StatusBadRequest} { // it counts once
		if res := send(t, http.MethodGet, g.URL+back.RequestURI(), "", browser...); res.StatusCode != want {
			t.Errorf("status = %s, want %d", res.Status, want)
		}
	}
	brought := `{"callback_url":"` + back.String() + `"}`
	read(send(t, http.MethodPost, g.URL+"/api/mcp/oauth/callback/"+told.ID, brought, key...)) // too late, and harmless
	for told.State == nil {
		read(send(t, http.MethodGet, g.URL+"/api/mcp/oauth/status/"+told.ID, "", key...))
		if told.Status != "authorizing" && told.Status != "succeeded" {
			t.Fatalf("progress = %+v", told)
		}
	}
	if res := send(t, http.MethodPost, g.URL+"/api/settings/mcp/srv", server(`,"state":`+string(told.State)), key...); res.StatusCode != http.StatusCreated {
		t.Fatalf("status = %s, body %s", res.Status, bodyOf(t, res))
	}
	as.Revoke(false)
	answer := bodyOf(t, g.post(t, chat(`[[tool whoami {}]] then [[finish Called.]]`, false)))
	if last := llm.Requests(); !strings.Contains(answer, "Called.") || !strings.Contains(string(last[len(last)-1].Body), "somebody who is logged in") {
		t.Errorf("answer = %s", answer)
	}
	log, err := os.ReadFile(g.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"access-", "refresh-", "code-", back.Query().Get("state")} {
		if strings.Contains(string(log), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// caller sends a request to a server of OpenHands' own API and reads the answer.
type caller func(method, path string, body, answer any)

// TestLoginsAreExchangedWithAnAgentServer logs in by ohgw and by an agent-server. Each of
// them uses and renews what the other has stored.
func TestLoginsAreExchangedWithAnAgentServer(t *testing.T) {
	t.Parallel()
	as := oauthtest.New(t)
	theirs := agentservertest.StartVersion(t, agentservertest.Newest, sharedKey)
	ours := serveEmbeddedSealed(t)
	callers := map[string]caller{
		"ohgw": func(method, path string, body, answer any) {
			t.Helper()
			data, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			ours.native(t, method, path, string(data), answer)
		},
		"agent-server": func(method, path string, body, answer any) { t.Helper(); theirs.Call(t, method, path, body, answer) },
	}
	for name, other := range map[string]string{"ohgw": "agent-server", "agent-server": "ohgw"} {
		state := loginBy(t, callers[name], as)
		for _, expired := range []bool{false, true} {
			if expired {
				state["token_expires_at"] = 5
			}
			var tried struct {
				OK    bool           `json:"ok"`
				Error string         `json:"error"`
				Tools []string       `json:"tools"`
				State map[string]any `json:"oauth_state"`
			}
			callers[other](http.MethodPost, "/api/mcp/test", map[string]any{"server": serverWith(as, state)}, &tried)
			if !tried.OK || len(tried.Tools) != 1 || tried.State == nil {
				t.Errorf("%s with the login of %s, expired: %v: %s", other, name, expired, tried.Error)
			}
		}
	}
}

// sharedKey is the secret key of OpenHands, with which both read what the other stores.
const sharedKey = "OH_SECRET_KEY=a-key-of-32-characters-for-tests"

// serveEmbeddedSealed has OpenHands' secret key.
func serveEmbeddedSealed(t *testing.T) *gateway {
	t.Helper()
	home := t.TempDir()
	return start(t, racyProgram(t), home, []string{"--backend", "embedded", "--key-store", "file", "--native", "--sandbox", "off"},
		sharedKey)
}

func serverWith(as *oauthtest.Server, state map[string]any) map[string]any {
	return map[string]any{"url": as.MCP, "type": "http", "auth": map[string]any{"strategy": "oauth2", "state": state}}
}

// loginBy logs in to the server and returns what a client stores.
func loginBy(t *testing.T, call caller, as *oauthtest.Server) map[string]any {
	t.Helper()
	var told struct {
		ID    string         `json:"job_id"`
		Page  string         `json:"authorization_url"`
		Ready bool           `json:"callback_ready"`
		State map[string]any `json:"oauth_state"`
		Error string         `json:"error"`
	}
	call(http.MethodPost, "/api/mcp/oauth/start", map[string]any{"server": serverWith(as, nil)}, &told)
	for !told.Ready { // an agent-server listens for the browser later
		call(http.MethodGet, "/api/mcp/oauth/status/"+told.ID, nil, &told)
	}
	back, err := oauthtest.Visit(t.Context(), told.Page)
	if err != nil {
		t.Fatalf("%s: %v", told.Error, err)
	}
	call(http.MethodPost, "/api/mcp/oauth/callback/"+told.ID, map[string]any{"callback_url": back.String()}, &told)
	if told.State == nil {
		t.Fatalf("no login: %s", told.Error)
	}
	return told.State
}
