package catalogue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
	"github.com/ohgw/ohgw/daemon/openhandsapi/catalogue"
	"github.com/ohgw/ohgw/daemon/openhandsapi/logins"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands/files"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/testkit/oauthtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup"
)

// loginAPI serves the routes of logins and of trials, as a daemon does.
func loginAPI(t *testing.T, key string) (*httptest.Server, *files.Store) {
	t.Helper()
	lookup := func(name string) (string, bool) { return key, name == "OH_SECRET_KEY" && key != "" }
	ciphers := profile.FindCiphers(profile.CipherSources{LookupEnv: lookup})
	kept := files.New(files.Config{Profiles: profile.Open(profile.Config{Base: t.TempDir(), Ciphers: ciphers}), Ciphers: ciphers, Now: time.Now})
	env := &setup.Env{Now: time.Now, Environ: os.Environ, Getenv: func(string) string { return "" }}
	servers := NewTrial(env, kept, func(context.Context, engine.BoxEnv) (sandbox.Box, error) {
		return sandbox.Outside(sandbox.Off, sandbox.Mark{}), nil
	}, slog.New(slog.DiscardHandler))
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	l := logins.New(logins.Config{Try: servers.Login, Address: func() string { return web.URL }, Now: time.Now, NewID: uuid.New})
	t.Cleanup(func() { _ = l.Close() })
	routes := append(l.Routes(), l.Open()...)
	routes = append(routes, catalogue.Routes(catalogue.Config{TryServer: func(ctx context.Context, of catalogue.Trial) (catalogue.Tried, error) {
		return servers.run(ctx, of, nil)
	}})...)
	for _, route := range routes {
		mux.Handle(route.Method+" "+route.Path, wire.Answer(slog.New(slog.DiscardHandler), route.Handle))
	}
	return web, kept
}

// progress is the answer of all routes of logins.
type progress struct {
	OK     bool            `json:"ok"`
	ID     string          `json:"job_id"`
	Page   string          `json:"authorization_url"`
	Status string          `json:"status"`
	Tools  []string        `json:"tools"`
	State  json.RawMessage `json:"oauth_state"`
	Error  string          `json:"error"`
}

func asked(t *testing.T, method, to string, body any) progress {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, to, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var p progress
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: status = %s, error %v", method, to, resp.Status, err)
	}
	return p
}

type object = map[string]any

// A client logs in, stores what it got in the settings, and conversations use it: with
// OpenHands' secret key it never sees the tokens.
func TestALoginFromTheClientToTheConversation(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"in clear text": "", "encrypted": "a key of OpenHands"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := oauthtest.New(t)
			web, kept := loginAPI(t, key)
			server := object{"url": as.MCP, "type": "shttp", "auth": object{"strategy": "oauth2"}}
			if p := asked(t, "POST", web.URL+"/api/mcp/test", object{"server": server}); p.OK || !strings.Contains(p.Error, "no login") {
				t.Errorf("answer = %+v", p)
			}
			started := asked(t, "POST", web.URL+"/api/mcp/oauth/start", object{"name": "srv", "server": server})
			back, err := oauthtest.Visit(t.Context(), started.Page)
			if err != nil {
				t.Fatalf("%+v: %v", started, err)
			}
			at, err := url.Parse(web.URL)
			if err != nil {
				t.Fatal(err)
			}
			if back.Host != "localhost:"+at.Port() || back.Path != logins.Path {
				t.Fatalf("the browser is sent to %s%s", back.Host, back.Path)
			}
			done := asked(t, "POST", web.URL+"/api/mcp/oauth/callback/"+started.ID, object{"callback_url": back.String()})
			if !done.OK || done.Status != "succeeded" || len(done.Tools) != 1 || strings.Contains(string(done.State), "access-") != (key == "") {
				t.Fatalf("answer = %+v, state %s", done, done.State)
			}
			server["auth"] = object{"strategy": "oauth2", "state": done.State}
			if p := asked(t, "POST", web.URL+"/api/mcp/test", object{"server": server}); !p.OK || len(p.State) < 10 {
				t.Errorf("a trial with the login: %+v", p)
			}
			delete(server, "type")
			plain, err := json.Marshal(server)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := kept.Servers.Add(t.Context(), "srv", plain); err != nil {
				t.Fatal(err)
			}
			as.Revoke(false)
			stateBefore, _, err := kept.Logins.Get(as.MCP)
			if err != nil {
				t.Fatal(err)
			}
			converse(t, as, kept, "")
			stateAfter, known, err := kept.Logins.Get(as.MCP)
			if err != nil || !known || bytes.Equal(stateBefore, stateAfter) || !bytes.Contains(stateAfter, []byte("refresh-")) {
				t.Errorf("the renewed login was not stored: %v", err)
			}
			converse(t, as, kept, "")
			as.Revoke(true)
			converse(t, as, kept, "needs a login")
		})
	}
}

// A person who says no is asked once, and the client reads it.
func TestALoginThatAPersonRefuses(t *testing.T) {
	t.Parallel()
	as := oauthtest.New(t)
	web, _ := loginAPI(t, "")
	started := asked(t, "POST", web.URL+"/api/mcp/oauth/start", object{"server": object{"url": as.MCP, "auth": object{"strategy": "oauth2"}}})
	page, err := url.Parse(started.Page)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(web.URL + logins.Path + "?error=access_denied&state=" + url.QueryEscape(page.Query().Get("state")))
	if err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Fatalf("the answer to a refused login: %v %v", resp, err)
	}
	_ = resp.Body.Close() // It was not read.
	var got progress
	waittest.Until(t, 10*time.Second, "the login fails", func() (any, bool) {
		got = asked(t, "GET", web.URL+"/api/mcp/oauth/status/"+started.ID, nil)
		return got, got.Status == "failed"
	})
	if got.Error != "the login was refused: access_denied" || got.Page != started.Page {
		t.Errorf("status = %+v", got)
	}
}

// converse calls a tool of a server as a conversation does. why is that of a warning.
func converse(t *testing.T, as *oauthtest.Server, kept *files.Store, why string) {
	t.Helper()
	client, err := mcp.Connect(t.Context(), mcp.Config{
		Servers: json.RawMessage(`{"srv":{"url":"` + as.MCP + `","auth":{"strategy":"oauth2"}}}`), HTTP: http.DefaultTransport, Version: "test",
		Logins: storedLogins{kept.Logins}, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	warnings := client.Warnings()
	if why == "" && len(warnings) == 0 && len(client.Tools()) == 1 {
		return
	}
	told, ok := errors.AsType[*fault.Error](errors.Join(warnings...))
	if !ok || why == "" || !strings.Contains(told.Msg, why) || !oauth.Needed(told) {
		t.Errorf("the warnings: %v, want %q", warnings, why)
	}
}

// A login that is sent along and still counts needs no person.
func TestALoginThatCountsNeedsNoPerson(t *testing.T) {
	t.Parallel()
	as := oauthtest.New(t)
	web, _ := loginAPI(t, "")
	server := object{"url": as.MCP, "auth": object{"strategy": "oauth2"}}
	started := asked(t, "POST", web.URL+"/api/mcp/oauth/start", object{"server": server})
	back, err := oauthtest.Visit(t.Context(), started.Page)
	if err != nil {
		t.Fatal(err)
	}
	done := asked(t, "POST", web.URL+"/api/mcp/oauth/callback/"+started.ID, object{"callback_url": back.String()})
	server["auth"] = object{"strategy": "oauth2", "state": done.State}
	again := asked(t, "POST", web.URL+"/api/mcp/oauth/start", object{"server": server})
	if !again.OK || again.Page != "" || as.Count("GET /authorize") != 1 {
		t.Errorf("answer = %+v", again)
	}
	if p := asked(t, "GET", web.URL+"/api/mcp/oauth/status/"+again.ID, nil); p.Status != "succeeded" {
		t.Errorf("answer = %+v", p)
	}
	as.Revoke(true)
	if third := asked(t, "POST", web.URL+"/api/mcp/oauth/start", object{"server": server}); !third.OK || third.Page == "" {
		t.Errorf("after everything was revoked: %+v", third)
	}
}
