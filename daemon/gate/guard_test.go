package gate_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/gate"
)

// untouched fails if anything of a request reached the backend.
func untouched(t *testing.T, b *daemontest.Backend, asked int) {
	t.Helper()
	apitest.Equal(t, "the number of runs", b.Runs(), 0)
	apitest.Size(t, "what was opened", b.Opened(), 0)
	apitest.Equal(t, "how often the backend was asked", b.Asked(), asked)
}

// Every route refuses a Host that is neither this machine's name nor allowed:
// a page whose name was pointed here would send it.
func TestHostNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // where no list of models becomes old
		b := daemontest.New("default")
		g := apitest.Serve(t, b, func(c *daemon.Config) { c.AllowHosts = []string{"Laptop.lan", "192.168.1.5"} })
		g.Do(http.MethodGet, "/v1/models", "")
		asked := b.Asked()
		for host, allowed := range map[string]bool{
			"localhost": true, "LOCALHOST": true, "localhost:6449": true, "127.0.0.1": true, "127.0.0.1:80": true, "127.1.2.3:6449": true,
			"[::1]": true, "[::1]:6449": true, "[::ffff:127.0.0.1]:6449": true, "host.docker.internal": true, "host.docker.internal:6449": true,
			"laptop.lan": true, "LAPTOP.LAN:1": true, "192.168.1.5:6449": true,
			"evil.example": false, "evil.example:6449": false, "localhost.evil.example": false, "evil-localhost": false, "x.localhost": false,
			"0.0.0.0": false, "0.0.0.0:6449": false, "[::]:6449": false, "10.0.0.1": false, "192.168.1.6": false,
			"127.0.0.1.nip.io": false, "2130706433": false, "0x7f000001": false, "localhost.": false, "a localhost": false,
		} {
			want := http.StatusOK
			if !allowed {
				want = http.StatusForbidden
			}
			res, ok := g.Try("GET", "/v1/models", host)
			if !ok {
				continue // net/http refuses it by itself
			}
			if res.Status != want {
				t.Errorf("%s: status = %d, want %d", host, res.Status, want)
			}
		}
		for _, r := range []*http.Request{
			g.Request(http.MethodGet, "/v1/models", "", "Host", "evil.example"),
			g.Request(http.MethodGet, "/healthz", "", "Host", "evil.example"),
			g.Request(http.MethodGet, "/", "", "Host", "evil.example"),
			g.Request(http.MethodOptions, "/v1/chat/completions", "", "Host", "evil.example", "Origin", "http://evil.example", "Access-Control-Request-Method", "POST"),
			g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("hi"), "Host", "evil.example"),
			g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("hi", apitest.Streamed), "Host", "evil.example"),
		} {
			res := g.Finish(g.Send(r))
			apitest.Envelope(t, res, http.StatusForbidden, "forbidden_host", "")
			noCORS(t, res)
		}
		untouched(t, b, asked)
	})
}

func noCORS(t *testing.T, res apitest.Response) {
	t.Helper()
	for name := range res.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s: header = %q", name, res.Header.Get(name))
		}
	}
}

const page = "https://chat.example:8443"

// A page of another origin, a page without one, and a cross-site request get 403,
// no CORS header, and nothing happens.
func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.AllowOrigins = []string{page, "null"} })
	g.Do(http.MethodGet, "/v1/models", "")
	asked := b.Asked()
	for name, header := range map[string][]string{
		"foreign":         {"Origin", "https://evil.example"},
		"null":            {"Origin", "null"},
		"itself":          {"Origin", "http://localhost:6449"},
		"other port":      {"Origin", "https://chat.example"},
		"other scheme":    {"Origin", "http://chat.example:8443"},
		"longer":          {"Origin", page + ".evil.example"},
		"cross-site":      {"Sec-Fetch-Site", "cross-site"},
		"same-site":       {"Sec-Fetch-Site", "same-site"},
		"foreign, same":   {"Origin", "https://evil.example", "Sec-Fetch-Site", "same-origin"},
		"desktop app":     {"Origin", "app://obsidian.md"},
		"extension":       {"Origin", "chrome-extension://abcdef"},
		"unknown metdata": {"Sec-Fetch-Site", "whatever"},
	} {
		for _, r := range []*http.Request{
			g.Request(http.MethodGet, "/v1/models", "", header...),
			g.Request(http.MethodGet, "/healthz", "", header...),
			g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("hi", apitest.Streamed), header...),
			g.Request(http.MethodOptions, "/v1/chat/completions", "", append(header, "Access-Control-Request-Method", "POST")...),
		} {
			res := g.Finish(g.Send(r))
			apitest.Envelope(t, res, http.StatusForbidden, "forbidden_origin", "")
			noCORS(t, res)
			if t.Failed() {
				t.Fatalf("%s: method = %s", name, r.Method)
			}
		}
	}
	two := g.Request(http.MethodGet, "/v1/models", "", "Origin", page)
	two.Header.Add("Origin", "https://evil.example")
	apitest.Envelope(t, g.Finish(g.Send(two)), http.StatusForbidden, "forbidden_origin", "")
	untouched(t, b, asked)
	for _, site := range []string{"same-origin", "none"} {
		if res := g.Do(http.MethodGet, "/v1/models", "", "Sec-Fetch-Site", site); res.Status != http.StatusOK {
			t.Errorf("%s: status = %d, want 200", site, res.Status)
		}
	}
}

// Apps that are not web pages have origins of other schemes, and their
// libraries send headers of their own.
func TestAnAllowedAppMayCall(t *testing.T) {
	t.Parallel()
	origins := []string{"app://obsidian.md", "chrome-extension://abcdefghijklmnop", "moz-extension://0a1b-2c", "tauri://localhost", "vscode-webview://1x2y", "capacitor://localhost"}
	g := apitest.Serve(t, daemontest.New("default"), func(c *daemon.Config) { c.AllowOrigins = origins })
	for _, origin := range origins {
		res := g.Do(http.MethodOptions, "/v1/chat/completions", "", "Authorization", "", "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,x-title, traceparent,dangerously-allow-browser,bad name,x\tz,content-type")
		apitest.Equal(t, origin, res.Header.Get("Access-Control-Allow-Origin"), origin)
		granted := res.Header.Get("Access-Control-Allow-Headers")
		if !strings.HasSuffix(granted, ", x-stainless-timeout, x-title, traceparent, dangerously-allow-browser") {
			t.Errorf("%s: granted %s", origin, granted)
		}
		res = g.Do(http.MethodGet, "/v1/models", "", "Origin", origin)
		apitest.Equal(t, origin, res.Status, http.StatusOK)
	}
	apitest.Envelope(t, g.Do(http.MethodGet, "/v1/models", "", "Origin", "app://other.md"), http.StatusForbidden, "forbidden_origin", "")
}

// A preflight has no key and gets the exact headers; the answer and its errors
// name the allowed origin and vary by it.
func TestAnAllowedPageMayCall(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.AllowOrigins = []string{page} })
	g.Do(http.MethodGet, "/v1/models", "")
	asked := b.Asked()
	preflight := []string{
		"Authorization", "", "Origin", page, "Sec-Fetch-Site", "cross-site", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,content-type",
	}
	res := g.Do(http.MethodOptions, "/v1/chat/completions", "", preflight...)
	apitest.Equal(t, "the status", res.Status, http.StatusNoContent)
	apitest.Equal(t, "the body", res.Body, "")
	got := make(map[string]string)
	for name := range res.Header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Vary" {
			got[name] = res.Header.Get(name)
		}
	}
	want := map[string]string{
		"Access-Control-Allow-Origin":  page,
		"Vary":                         "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
		"Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
		"Access-Control-Allow-Headers": "Authorization, Content-Type, Accept, X-Requested-With, Idempotency-Key, OpenAI-Beta, OpenAI-Organization, OpenAI-Project, X-OpenHands-ServerConversation-ID, X-Session-API-Key, X-Api-Key, X-Expose-Secrets, X-OpenHands-Client, X-OpenHands-Client-Version, X-OpenHands-Telemetry-Distinct-Id, X-OpenHands-Timeout, X-OpenHands-Budget, X-OpenHands-On-Disconnect, X-OpenHands-Repeat, X-OpenHands-Confirm, X-OpenHands-Confirmation, X-OpenHands-Details, X-OpenHands-Phases, X-OpenHands-Goal, X-OpenHands-Goal-Rounds, X-Conversation-Id, X-Chat-Id, X-Session-Id, X-Thread-Id, X-OpenHands-Transcript, x-stainless-arch, x-stainless-async, x-stainless-custom-poll-interval, x-stainless-helper-method, x-stainless-lang, x-stainless-os, x-stainless-package-version, x-stainless-poll-helper, x-stainless-raw-response, x-stainless-read-timeout, x-stainless-retry-count, x-stainless-runtime, x-stainless-runtime-version, x-stainless-timeout",
		"Access-Control-Max-Age":       "600",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	untouched(t, b, asked)
	res = g.Do(http.MethodOptions, "/v1/chat/completions", "", append(preflight, "Access-Control-Request-Private-Network", "true")...)
	if res.Header.Get("Access-Control-Allow-Private-Network") != "true" {
		t.Errorf("private network: %v", res.Header)
	}
	for _, res := range []apitest.Response{
		g.Do(http.MethodGet, "/v1/models", "", "Origin", page, "Sec-Fetch-Site", "cross-site"),
		g.Chat(apitest.Ask("hi"), "Origin", page),
		g.Chat(apitest.Ask("hi", apitest.Streamed), "Origin", page),
		g.Chat("{", "Origin", page),
		g.Chat(apitest.Ask("hi"), "Origin", page, "Authorization", ""),
		g.Do(http.MethodGet, "/nothing", "", "Origin", page),
	} {
		h := res.Header
		apitest.Equal(t, "Access-Control-Allow-Origin", h.Get("Access-Control-Allow-Origin"), page)
		apitest.Equal(t, "Vary", h.Get("Vary"), "Origin")
		apitest.Equal(t, "Access-Control-Allow-Credentials", h.Get("Access-Control-Allow-Credentials"), "")
		for _, name := range []string{"X-Request-Id", "X-OpenHands-ServerConversation-ID", "X-OpenHands-Run-Status", "Retry-After", "openai-processing-ms"} {
			if !strings.Contains(h.Get("Access-Control-Expose-Headers"), name) {
				t.Errorf("%d: exposed %q", res.Status, h.Get("Access-Control-Expose-Headers"))
			}
		}
	}
}

// Without a key, or with a wrong one, a request gets 401.
func TestKeys(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	g := apitest.Serve(t, b)
	g.Do(http.MethodGet, "/v1/models", "")
	asked := b.Asked()
	for name, tc := range map[string]struct {
		header []string
		code   string
	}{
		"none":        {nil, "missing_api_key"},
		"empty":       {[]string{"Authorization", "Bearer "}, "missing_api_key"},
		"basic":       {[]string{"Authorization", "Basic " + apitest.Key}, "missing_api_key"},
		"bare":        {[]string{"Authorization", apitest.Key}, "missing_api_key"},
		"wrong":       {[]string{"Authorization", "Bearer " + apitest.Key + "x"}, "invalid_api_key"},
		"a part":      {[]string{"Authorization", "Bearer " + apitest.Key[:10]}, "invalid_api_key"},
		"session":     {[]string{"X-Session-API-Key", "wrong"}, "invalid_api_key"},
		"placeholder": {[]string{"Authorization", "Bearer sk-none", "X-Api-Key", "wrong"}, "invalid_api_key"},
	} {
		for _, r := range []*http.Request{
			g.Request(http.MethodGet, "/v1/models", "", append([]string{"Authorization", ""}, tc.header...)...),
			g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("hi"), append([]string{"Authorization", ""}, tc.header...)...),
		} {
			res := g.Finish(g.Send(r))
			if e := apitest.Envelope(t, res, http.StatusUnauthorized, tc.code, ""); e["type"] != "invalid_request_error" || res.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: %v, %v", name, e, res.Header)
			}
		}
	}
	untouched(t, b, asked)
	for _, header := range [][]string{
		{"Authorization", "Bearer " + apitest.Key},
		{"Authorization", "bearer   " + apitest.Key},
		{"X-Session-API-Key", apitest.Key},
		{"X-Api-Key", apitest.Key},
		{"Api-Key", apitest.Key},
		{"Authorization", "Bearer sk-placeholder", "X-Session-API-Key", apitest.Key},
	} {
		if res := g.Do(http.MethodGet, "/v1/models", "", append([]string{"Authorization", ""}, header...)...); res.Status != http.StatusOK {
			t.Errorf("GET /v1/models with %v: %d", header, res.Status)
		}
	}
}

// A page can send text/plain without a preflight, so that is not JSON here.
func TestSimpleRequestsOfPagesAreRefused(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	g := apitest.Serve(t, b)
	g.Do(http.MethodGet, "/v1/models", "")
	asked := b.Asked()
	for _, kind := range []string{"text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", ""} {
		apitest.Envelope(t, g.Chat(apitest.Ask("hi"), "Content-Type", kind), http.StatusBadRequest, "unsupported_content_type", "")
	}
	untouched(t, b, asked)
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON"} {
		apitest.Completed(t, g.Chat(apitest.Ask("hi"), "Content-Type", kind))
	}
}

// A daemon that others can reach does not start without keys.
func TestWithoutKeysOnlyThisMachineIsServed(t *testing.T) {
	t.Parallel()
	if _, err := daemon.New(daemon.Config{Config: gate.Config{Backend: daemontest.New()}}); err == nil {
		t.Error("a daemon without tokens was made, and nobody said --no-auth")
	}
	for addr, refused := range map[string]bool{"0.0.0.0:1": true, "[::]:1": true, "192.168.1.5:1": true, "127.0.0.1:1": false, "[::1]:1": false} {
		tcp, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		d, err := daemon.New(daemon.Config{Config: gate.Config{Backend: daemontest.New(), NoAuth: true}})
		if err != nil {
			t.Fatal(err)
		}
		ln := &closedListener{addr: tcp}
		if err := d.Serve(t.Context(), ln); errors.Is(err, daemon.ErrNoKeys) != refused || !ln.closed {
			t.Errorf("%s: %v, closed %t", addr, err, ln.closed)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// closedListener accepts nothing.
type closedListener struct {
	addr   net.Addr
	closed bool
}

func (l *closedListener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (l *closedListener) Close() error              { l.closed = true; return nil }
func (l *closedListener) Addr() net.Addr            { return l.addr }

func TestWithoutKeysEverybodyMayCallFromHere(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"), func(c *daemon.Config) { c.Tokens, c.NoAuth = nil, true })
	apitest.Completed(t, g.Chat(apitest.Ask("hi"), "Authorization", ""))
	apitest.Completed(t, g.Chat(apitest.Ask("hi"), "Authorization", "Bearer whatever"))
	apitest.Envelope(t, g.Chat(apitest.Ask("hi"), "Origin", "https://evil.example"), http.StatusForbidden, "forbidden_origin", "")
}

// Health checks of load balancers speak HTTP/1.0 and name no host, which no
// browser does.
func TestRequestsOfHTTP10NeedNoHost(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]int{
		"GET /healthz HTTP/1.0\r\n\r\n":                                http.StatusOK,
		"HEAD /readyz HTTP/1.0\r\n\r\n":                                http.StatusOK,
		"GET /v1/models HTTP/1.0\r\n\r\n":                              http.StatusUnauthorized,
		"GET /healthz HTTP/1.0\r\nHost: evil.example\r\n\r\n":          http.StatusForbidden,
		"GET /healthz HTTP/1.0\r\nOrigin: http://evil.example\r\n\r\n": http.StatusForbidden,
		"GET http://evil.example/healthz HTTP/1.0\r\n\r\n":             http.StatusForbidden,
		"GET /healthz HTTP/1.1\r\n\r\n":                                http.StatusBadRequest,
		"GET /healthz HTTP/1.1\r\nHost:\r\n\r\n":                       http.StatusForbidden,
	} {
		ln := apitest.NewPipes()
		apitest.ServeOn(t, ln, daemontest.New("default"))
		if _, _, res := apitest.ExchangeOn(t, ln, sent); res.Status != want {
			t.Errorf("%q: status = %d, want %d", sent, res.Status, want)
		}
	}
}
