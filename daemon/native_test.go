package daemon_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/gate"
)

// native notes what reaches it of OpenHands' own API.
type native struct{ closed bool }

func (n *native) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+string(body))
}

func (n *native) Socket(w http.ResponseWriter, _ *http.Request, admitted bool, let func(string) bool) {
	answer := map[bool]string{true: "admitted", false: "asked"}[admitted]
	if let(nativeKey) && !let(apitest.Key) && !let("wrong") {
		answer += ", knows keys"
	}
	_, _ = io.WriteString(w, answer)
}

func (n *native) Public(path string) bool { return path == "/server_info" }

func (n *native) Close() error { n.closed = true; return nil }

const nativeKey = "ohgw-native-key-0123456789"

// nativeTokens are the keys of the tests, and one for OpenHands' own API.
type nativeTokens struct{ apitest.Tokens }

func (n nativeTokens) Check(presented string) (gate.Client, error) {
	if presented == nativeKey {
		return gate.Client{ID: "id-native", Name: "native", Native: true}, nil
	}
	return n.Tokens.Check(presented)
}

func TestOpenHandsOwnAPIIsForItsKeysAlone(t *testing.T) {
	t.Parallel()
	n := &native{}
	g := apitest.Serve(t, daemontest.New(), func(c *daemon.Config) { c.Native, c.Tokens = n, nativeTokens{} })
	const refused = `{"detail":"Unauthorized"}`
	const notMade = `{"detail":"This API key may not use OpenHands' own API; create one that may: ohgw tokens create NAME --native"}`
	for _, tt := range []struct {
		method, path, header, key string
		status                    int
		body                      string
	}{
		{"POST", "/api/conversations", "X-Session-API-Key", nativeKey, 200, "POST /api/conversations {}"},
		{"POST", "/api/conversations", "Authorization", "Bearer " + nativeKey, 200, "POST /api/conversations {}"},
		{"GET", "/api/settings", "", "", 401, refused},
		{"GET", "/api/settings", "X-Session-API-Key", "wrong", 401, refused},
		{"GET", "/api/settings", "X-Session-API-Key", apitest.ExpiredKey, 401, refused},
		{"GET", "/api/settings", "X-Session-API-Key", apitest.Key, 403, notMade},
		{"GET", "/api/settings", "X-Session-API-Key", apitest.BrokenKey, 500, `{"detail":"Internal Server Error","exception":"500: The API key cannot be checked; the log of ohgw serve has the cause."}`},
		{"GET", "/api/file/../../v1/models", "X-Session-API-Key", nativeKey, 200, "GET /api/file/../../v1/models"}, // it has no models
		{"GET", "/server_info", "", "", 200, "GET /server_info"},
		{"GET", "/sockets/events/x", "", "", 200, "asked, knows keys"},
		{"GET", "/sockets/events/x", "X-Session-API-Key", nativeKey, 200, "admitted, knows keys"},
		{"GET", "/sockets/events/x?session_api_key=" + nativeKey, "X-Session-API-Key", "wrong", 200, "admitted, knows keys"},
		{"GET", "/sockets/events/x?session_api_key=wrong", "X-Session-API-Key", nativeKey, 403, refused},
		{"GET", "/sockets/events/x", "X-Session-API-Key", apitest.Key, 403, notMade},
	} {
		body := ""
		if tt.method == http.MethodPost {
			body = "{}"
		}
		req := g.Request(tt.method, tt.path, body)
		req.Header.Del("Authorization")
		if tt.header != "" {
			req.Header.Set(tt.header, tt.key)
		}
		res := g.Finish(g.Send(req))
		if diff := cmp.Diff(tt.body, strings.TrimSpace(res.Body)); diff != "" || res.Status != tt.status {
			t.Errorf("%s %s with %s: %d, want %d: %s", tt.method, tt.path, tt.header, res.Status, tt.status, diff)
		}
	}
	if strings.Contains(g.Logs.String(), nativeKey) {
		t.Error("the log has a key")
	}
	if err := g.Stop(); err != nil || !n.closed {
		t.Errorf("stop: %v, and the sockets were ended: %v", err, n.closed)
	}
}

func TestOpenHandsOwnAPIIsOffUnlessAsked(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New())
	for _, path := range []string{"/api/conversations", "/sockets/events/x", "/server_info"} {
		if res := g.Do(http.MethodGet, path, ""); res.Status != http.StatusNotFound {
			t.Errorf("%s: status = %d, want 404", path, res.Status)
		}
	}
}

// pages is a native API with a page that a cookie opens.
type pages struct{ native }

func (*pages) CookieKey(r *http.Request) string {
	if c, err := r.Cookie("c"); err == nil && c.Value == "word" && r.URL.Path == "/api/page" {
		return nativeKey
	}
	return ""
}

// A page of an allowed origin may show a page of a workspace in a frame, if it has the
// cookie, and nothing else.
func TestAPageOfAnAllowedOriginFramesAWorkspace(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New(), func(c *daemon.Config) {
		c.Native, c.Tokens, c.AllowOrigins = &pages{}, nativeTokens{}, []string{"http://localhost:3000"}
	})
	frame := []string{
		"Authorization", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe",
		"Referer", "http://localhost:3000/x", "Cookie", "c=word",
	}
	for _, tt := range []struct {
		name, path string
		header     []string
		status     int
	}{
		{"as it comes", "/api/page", nil, 200},
		{"on the same site", "/api/page", []string{"Sec-Fetch-Site", "same-site"}, 200},
		{"another path", "/api/settings", nil, 403},
		{"without the cookie", "/api/page", []string{"Cookie", ""}, 403},
		{"with another cookie", "/api/page", []string{"Cookie", "c=guess"}, 403},
		{"with a key", "/api/page", []string{"Cookie", "", "X-Session-API-Key", nativeKey}, 403},
		{"from another page", "/api/page", []string{"Referer", "https://evil.example/"}, 403},
		{"from one with a longer name", "/api/page", []string{"Referer", "http://localhost:3000.evil.example/"}, 403},
		{"from one with a user", "/api/page", []string{"Referer", "http://localhost:3000@evil.example/"}, 403},
		{"from nobody", "/api/page", []string{"Referer", ""}, 403},
		{"as a script", "/api/page", []string{"Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, 403},
		{"with a foreign origin", "/api/page", []string{"Origin", "https://evil.example"}, 403},
		{"with no origin", "/api/page", []string{"Origin", "null"}, 403},
		{"by a foreign name", "/api/page", []string{"Host", "evil.example"}, 403},
	} {
		req := g.Request(http.MethodGet, tt.path, "", append(slices.Clone(frame), tt.header...)...)
		if i := slices.Index(tt.header, "Host"); i >= 0 {
			req.Host = tt.header[i+1]
		}
		if res := g.Finish(g.Send(req)); res.Status != tt.status {
			t.Errorf("%s: status = %d, want %d", tt.name, res.Status, tt.status)
		}
	}
	for path, want := range map[string]string{
		"/api/auth/workspace-session": "true", "/api/conversations/x/workspace/a.txt": "true", "/api/conversations/x/events": "", "/api/settings": "", "/v1/models": "",
	} {
		for _, method := range []string{http.MethodOptions, http.MethodPost} {
			req := g.Request(method, path, "", "Origin", "http://localhost:3000", "Access-Control-Request-Method", "POST")
			if got := g.Finish(g.Send(req)).Header.Get("Access-Control-Allow-Credentials"); got != want {
				t.Errorf("%s %s: credentials %q", method, path, got)
			}
		}
	}
}

func TestForeignPagesReachNothingOfOpenHandsOwnAPI(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New(), func(c *daemon.Config) { c.Native, c.NoAuth, c.Tokens = &native{}, true, nil })
	for header, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"} {
		req := g.Request(http.MethodPost, "/api/bash/execute_bash_command", "{}")
		req.Header.Set(header, value)
		if res := g.Finish(g.Send(req)); res.Status != http.StatusForbidden {
			t.Errorf("%s: status = %d, want 403", header, res.Status)
		}
	}
	req := g.Request(http.MethodPost, "/api/bash/execute_bash_command", "{}")
	req.Host = "evil.example"
	if res := g.Finish(g.Send(req)); res.Status != http.StatusForbidden {
		t.Errorf("a foreign host name: %d, want 403", res.Status)
	}
}

// withPage has a page to which other sites send browsers.
type withPage struct{ *native }

const openPage = "/mcp/oauth/callback"

func (withPage) Open(path string) bool { return path == openPage }

// A browser comes back from a login without a key, and from another site: as a whole
// page, and to that page alone.
func TestABrowserComesBackFromALogin(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New(), func(c *daemon.Config) { c.Native, c.Tokens = withPage{&native{}}, nativeTokens{} })
	from := func(site, mode, dest string) []string {
		return []string{"Authorization", "", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", mode, "Sec-Fetch-Dest", dest}
	}
	for name, tt := range map[string]struct {
		method, path string
		header       []string
		status       int
	}{
		"a browser":         {"GET", openPage + "?code=c&state=s", from("cross-site", "navigate", "document"), 200},
		"of this site":      {"GET", openPage, from("same-origin", "navigate", "document"), 200},
		"a program":         {"GET", openPage, []string{"Authorization", ""}, 200},
		"a frame":           {"GET", openPage, from("cross-site", "navigate", "iframe"), 403},
		"a request":         {"GET", openPage, from("cross-site", "no-cors", "empty"), 403},
		"an image":          {"GET", openPage, from("cross-site", "no-cors", "image"), 403},
		"a form":            {"POST", openPage, from("cross-site", "navigate", "document"), 403},
		"an origin":         {"GET", openPage, append(from("cross-site", "navigate", "document"), "Origin", "https://attacker.example"), 403},
		"a rebinding name":  {"GET", openPage, append(from("cross-site", "navigate", "document"), "Host", "attacker.example"), 403},
		"another path":      {"GET", "/api/settings", from("cross-site", "navigate", "document"), 403},
		"below":             {"GET", openPage + "/x", from("cross-site", "navigate", "document"), 403},
		"a longer path":     {"GET", openPage + "/../../../api/settings", []string{"Authorization", ""}, 404},
		"of another prefix": {"GET", "/v1" + openPage, []string{"Authorization", ""}, 404},
	} {
		if res := g.Do(tt.method, tt.path, "", tt.header...); res.Status != tt.status {
			t.Errorf("%s: status = %d, body = %s, want status %d", name, res.Status, res.Body, tt.status)
		}
	}
	closed := apitest.Serve(t, daemontest.New(), func(c *daemon.Config) { c.Native, c.Tokens = &native{}, nativeTokens{} })
	if res := closed.Do("GET", openPage, "", "Authorization", ""); res.Status != 404 {
		t.Errorf("in front of an agent-server: %d %s", res.Status, res.Body)
	}
}

// withOptions answers which methods a path has.
type withOptions struct{ *native }

func (withOptions) Options(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET")
	w.WriteHeader(http.StatusMethodNotAllowed)
}

// TestAnAgentServersMethodsNeedNoKey asks without a key which methods a path has. Nothing
// else is answered without one, nor is this passed on to an agent-server.
func TestAnAgentServersMethodsNeedNoKey(t *testing.T) {
	t.Parallel()
	embedded := apitest.Serve(t, daemontest.New(), func(c *daemon.Config) { c.Native, c.Tokens = withOptions{&native{}}, nativeTokens{} })
	passed := apitest.Serve(t, daemontest.New(), func(c *daemon.Config) { c.Native, c.Tokens = &native{}, nativeTokens{} })
	for _, tt := range []struct {
		of           *apitest.Gateway
		method, path string
		status       int
	}{
		{embedded, "OPTIONS", "/api/settings", 405},
		{embedded, "OPTIONS", "/sockets/events/x", 200}, // asks for a key in the first frame
		{embedded, "GET", "/api/settings", 401},
		{embedded, "DELETE", "/api/settings", 401},
		{passed, "OPTIONS", "/api/settings", 401},
	} {
		for _, presented := range []string{"", "wrong"} {
			header := []string{"Authorization", ""}
			want := tt.status
			if presented != "" {
				header = append(header, "X-Session-API-Key", presented)
				if strings.HasPrefix(tt.path, "/sockets/") {
					want = 403
				}
			}
			if res := tt.of.Do(tt.method, tt.path, "", header...); res.Status != want {
				t.Errorf("%s %s with the key %q: %d %s", tt.method, tt.path, presented, res.Status, res.Body)
			}
		}
	}
}
