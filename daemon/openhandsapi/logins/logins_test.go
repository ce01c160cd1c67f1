package logins_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/catalogue"
	"github.com/ohgw/ohgw/daemon/openhandsapi/logins"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/uuid"
)

const server = `{"server":{"url":"https://mcp.example/mcp","auth":{"strategy":"oauth2"}},"timeout":20}`

// page is where a person logs in.
const page = "https://as.example/authorize?state="

// api serves the routes. try is what becomes of a server; nil asks the person of the
// state "state-of-" and the name, and takes the code "good".
type api struct {
	t   *testing.T
	mux *http.ServeMux
}

func newAPI(t *testing.T, try func(context.Context, catalogue.Trial, logins.Browser) (catalogue.Tried, error)) *api {
	t.Helper()
	if try == nil {
		try = loginWith
	}
	l := logins.New(logins.Config{Try: try, Address: func() string { return "http://127.0.0.1:6449" }, Now: time.Now, NewID: uuid.New})
	t.Cleanup(func() { _ = l.Close() })
	a := &api{t, http.NewServeMux()}
	for _, route := range append(l.Routes(), l.Open()...) {
		a.mux.Handle(route.Method+" "+route.Path, wire.Answer(slog.New(slog.DiscardHandler), route.Handle))
	}
	return a
}

func loginWith(ctx context.Context, t catalogue.Trial, b logins.Browser) (catalogue.Tried, error) {
	back, err := b.Visit(ctx, page+"state-of-"+t.Name)
	switch {
	case err != nil:
		return catalogue.Tried{}, fmt.Errorf("log in: %w", err)
	case back.Error != "":
		return catalogue.Tried{}, errors.New("refused: " + back.Error)
	case back.Code != "good":
		return catalogue.Tried{}, errors.New("the code is wrong")
	}
	return catalogue.Tried{Tools: []string{"add"}, Login: json.RawMessage(`{"tokens":{"access_token":"a"}}`)}, nil
}

func (a *api) do(method, path, body string) (int, string) {
	a.t.Helper()
	w := httptest.NewRecorder()
	a.mux.ServeHTTP(w, httptest.NewRequestWithContext(a.t.Context(), method, path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// start begins a login and returns its id.
func (a *api) start(name string) string {
	a.t.Helper()
	status, body := a.do("POST", "/api/mcp/oauth/start", `{"name":"`+name+`",`+server[1:])
	var started struct {
		ID   string `json:"job_id"`
		OK   bool   `json:"ok"`
		Page string `json:"authorization_url"`
	}
	if err := json.Unmarshal([]byte(body), &started); err != nil || status != 200 || !started.OK || started.Page != page+"state-of-"+name || len(started.ID) != 32 {
		a.t.Fatalf("status = %d, want 200, body = %s", status, body)
	}
	return started.ID
}

func (a *api) want(method, path, body string, status int, want string) {
	a.t.Helper()
	if code, text := a.do(method, path, body); code != status || !strings.Contains(text, want) {
		a.t.Errorf("%s %s: status = %d, body = %s\nwant %d %s", method, path, code, text, status, want)
	}
}

// settled waits for the end of a login.
func (a *api) settled(id string) string {
	a.t.Helper()
	synctest.Wait()
	_, body := a.do("GET", "/api/mcp/oauth/status/"+id, "")
	return body
}

func TestALoginByBrowser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		id := a.start("server-one-of-two")
		a.want("GET", "/api/mcp/oauth/status/"+id, "", 200,
			`{"authorization_url":"`+page+`state-of-server-one-of-two","callback_ready":true,"job_id":"`+id+`","ok":true,"status":"authorizing"}`)
		const back = logins.Path + "?code=good&state=state-of-server-one-of-two"
		a.want("HEAD", back, "", 405, "")
		for _, other := range []string{"?code=good", "?code=good&state=", "?code=good&state=another", "?state=state-of-server-one-of-two", ""} {
			a.want("GET", logins.Path+other, "", 400, "This link is not valid")
		}
		a.want("GET", back, "", 200, "You can close this page")
		want := `{"authorization_url":"` + page + `state-of-server-one-of-two","callback_ready":true,"job_id":"` + id + `","oauth_state":{"tokens":{"access_token":"a"}},"ok":true,"status":"succeeded","tools":["add"]}`
		if got := a.settled(id); strings.TrimSpace(got) != want {
			t.Errorf("the login = %s\nwant %s", got, want)
		}
		a.want("GET", back, "", 400, "This link is not valid")
		time.Sleep(16 * time.Minute)
		a.want("GET", "/api/mcp/oauth/status/"+id, "", 404, `{"detail":"MCP OAuth job not found"}`)
	})
}

func TestALoginThatIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		id := a.start("a-server-of-somebody")
		w := httptest.NewRecorder()
		a.mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", logins.Path+"?error=access_denied&error_description=%3Cscript%3E&state=state-of-a-server-of-somebody&x=https://evil.example", nil))
		for _, echo := range []string{"access_denied", "script", "evil", "state-of"} {
			if strings.Contains(w.Body.String()+fmt.Sprint(w.Header()), echo) {
				t.Errorf("the page repeats %q", echo)
			}
		}
		if w.Code != 400 || w.Header().Get("Location") != "" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") ||
			w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("status = %d, header = %v", w.Code, w.Header())
		}
		if got := a.settled(id); !strings.Contains(got, `"error":"refused: access_denied","error_kind":"connection"`) || !strings.Contains(got, `"ok":false,"status":"failed"`) {
			t.Error(got)
		}
	})
}

// Of a browser that cannot reach ohgw, the client brings the address.
func TestAClientBringsTheAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		id, other := a.start("the-first-server"), a.start("the-second-server")
		bring := func(address string) string {
			body, err := json.Marshal(map[string]string{"callback_url": address})
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
		path := "/api/mcp/oauth/callback/" + id
		const good = "http://localhost:6449" + logins.Path + "?code=good&state=state-of-the-first-server"
		for _, tt := range []struct {
			path, body string
			status     int
			want       string
		}{
			{"/api/mcp/oauth/callback/none", bring(good), 404, `{"detail":"MCP OAuth job not found"}`},
			{path, `{}`, 422, `"loc":["body","callback_url"]`},
			{path, `{"callback_url":null}`, 422, `"type":"string_type"`},
			{path, `{"callback_url":3}`, 422, `"type":"string_type"`},
			{path, bring(""), 422, `"type":"string_too_short"`},
			{path, bring("https://localhost:6449" + logins.Path), 400, `{"detail":"Invalid OAuth callback URL"}`},
			{path, bring("http://evil.example:6449" + logins.Path), 400, `{"detail":"Invalid OAuth callback URL"}`},
			{path, bring("http://[::1"), 400, `{"detail":"Invalid OAuth callback URL"}`},
			{path, bring("http://localhost:1" + logins.Path), 400, `{"detail":"Unexpected OAuth callback URL"}`},
			{path, bring("http://localhost:6449/callback"), 400, `{"detail":"Unexpected OAuth callback URL"}`},
			{path, bring("http://localhost:6449" + logins.Path + "?code=good&state=wrong"), 200, `"error":"OAuth callback returned HTTP 400","error_kind":"connection"`},
			{"/api/mcp/oauth/callback/" + other, bring(good), 200, `"error":"OAuth callback returned HTTP 400"`},
			{path, bring(strings.Replace(good, "localhost", "127.0.0.1", 1)), 200, `"oauth_state":{"tokens":{"access_token":"a"}},"ok":true,"status":"succeeded","tools":["add"]}`},
			{path, bring(good), 200, `"error":"OAuth callback returned HTTP 400"`},
		} {
			a.want("POST", tt.path, tt.body, tt.status, tt.want)
		}
	})
}

func TestStartsThatNeedNoPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, func(ctx context.Context, of catalogue.Trial, b logins.Browser) (catalogue.Tried, error) {
			switch of.Name {
			case "in":
				return catalogue.Tried{Tools: []string{"x"}}, nil
			case "odd":
				_, err := b.Visit(ctx, "javascript:alert(1)//?state=0123456789012345678")
				return catalogue.Tried{}, err
			case "short":
				_, err := b.Visit(ctx, page+"1")
				return catalogue.Tried{}, err
			}
			<-ctx.Done()
			return catalogue.Tried{}, ctx.Err()
		})
		for name, want := range map[string]string{
			"in":    `"ok":true}`,
			"odd":   `"error":"the authorization server has no page for browsers","error_kind":"connection"`,
			"short": `"error":"the authorization server has no page for browsers"`,
			"slow":  `"error_kind":"timeout"`,
		} {
			a.want("POST", "/api/mcp/oauth/start", `{"name":"`+name+`",`+server[1:], 200, want)
		}
		a.want("POST", "/api/mcp/oauth/start", `{"server":{"url":"https://h","auth":{"strategy":"bearer","value":"x"}}}`, 400, `{"detail":"MCP OAuth start requires auth.strategy='oauth2'"}`)
		a.want("POST", "/api/mcp/oauth/start", `{"server":{"command":"x"}}`, 400, `{"detail":"MCP OAuth start requires auth.strategy='oauth2'"}`)
		a.want("POST", "/api/mcp/oauth/start", `{}`, 422, `"loc":["body","server"]`)
	})
}

// A person has five minutes, beside the time of the servers; and there is an end.
func TestALoginThatNobodyFinishes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		id := a.start("a-server-of-nobody")
		time.Sleep(4*time.Minute + 59*time.Second)
		a.want("GET", "/api/mcp/oauth/status/"+id, "", 200, `"status":"authorizing"`)
		time.Sleep(2 * time.Second)
		if got := a.settled(id); !strings.Contains(got, `"error":"the login was not finished within 5 minutes","error_kind":"timeout"`) {
			t.Error(got)
		}
		a.want("GET", logins.Path+"?code=good&state=state-of-a-server-of-nobody", "", 400, "not valid")
	})
}

func TestTooManyLogins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, nil)
		for i := range 32 {
			a.start(fmt.Sprintf("server-%010d", i))
		}
		a.want("POST", "/api/mcp/oauth/start", server, 429, "finish one, or try again")
		time.Sleep(6 * time.Minute)
		a.start("one-more-server")
	})
}

// The address is the one that browsers of this machine reach.
func TestTheAddressForBrowsers(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"http://127.0.0.1:6449": "http://localhost:6449" + logins.Path, "http://[::1]:6449": "http://localhost:6449" + logins.Path,
		"http://192.0.2.7:80": "http://192.0.2.7:80" + logins.Path, "": "",
	} {
		got := make(chan string, 1)
		l := logins.New(logins.Config{
			Try: func(_ context.Context, _ catalogue.Trial, b logins.Browser) (catalogue.Tried, error) {
				got <- b.RedirectURL
				return catalogue.Tried{}, nil
			},
			Address: func() string { return at }, Now: time.Now, NewID: uuid.New,
		})
		w := httptest.NewRecorder()
		wire.Answer(slog.New(slog.DiscardHandler), l.Routes()[0].Handle).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(server)))
		if want == "" {
			if w.Code != http.StatusServiceUnavailable {
				t.Errorf("without an address: %d %s", w.Code, w.Body)
			}
		} else if to := <-got; to != want {
			t.Errorf("%s: address = %s, want %s", at, to, want)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
