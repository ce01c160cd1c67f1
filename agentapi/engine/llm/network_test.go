package llm_test

import (
	"compress/gzip"
	"compress/zlib"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

const shortAnswer = `data: {"id":"c1","choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

// answerer answers every request with a short stream.
func answerer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, shortAnswer)
}

// relay passes the bytes of connections on, until lose: from then on those that are open
// carry nothing, and neither end gets an error.
type relay struct {
	net.Listener
	target string
	opened atomic.Int32

	mu    sync.Mutex
	conns []*lossyConn
	group sync.WaitGroup
}

// lossyConn swallows what is written once it is lost.
type lossyConn struct {
	net.Conn
	lost atomic.Bool
}

func (c *lossyConn) Write(p []byte) (int, error) {
	if c.lost.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func newRelay(t *testing.T, target string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l, target: target}
	r.group.Go(r.serve)
	t.Cleanup(func() {
		_ = l.Close()
		r.mu.Lock()
		for _, c := range r.conns {
			_ = c.Close()
		}
		r.mu.Unlock()
		r.group.Wait()
	})
	return r
}

func (r *relay) serve() {
	for {
		in, err := r.Accept()
		if err != nil {
			return
		}
		r.opened.Add(1)
		out, err := net.Dial("tcp", r.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		here, there := &lossyConn{Conn: in}, &lossyConn{Conn: out}
		r.mu.Lock()
		r.conns = append(r.conns, here, there)
		r.mu.Unlock()
		for _, way := range [][2]*lossyConn{{here, there}, {there, here}} {
			r.group.Go(func() {
				_, _ = io.Copy(way[1], way[0])
				_ = way[1].Close()
			})
		}
	}
}

// lose makes all open connections dead in silence.
func (r *relay) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.lost.Store(true)
	}
}

// http2Behind is a provider with HTTP/2 behind a relay, and a client for it.
func http2Behind(t *testing.T) (*relay, *http.Client) {
	t.Helper()
	provider := httptest.NewUnstartedServer(http.HandlerFunc(answerer))
	provider.EnableHTTP2 = true
	provider.StartTLS()
	t.Cleanup(provider.Close)
	r := newRelay(t, provider.Listener.Addr().String())
	client := llm.NewHTTPClient(nil)
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // a test's own certificate
	t.Cleanup(client.CloseIdleConnections)
	return r, client
}

func TestADeadConnectionCostsOneTry(t *testing.T) {
	t.Parallel()
	r, client := http2Behind(t)
	cfg := llm.Config{HTTP: client, Profile: profile(t, "openai/test", `"base_url":"https://`+r.Addr().String()+`/v1","timeout":5,"num_retries":2,"retry_min_wait":1,"retry_max_wait":1`)}
	m := newModel(t, cfg)
	if _, err := ask(t, m); err != nil {
		t.Fatal(err)
	}
	r.lose()
	if _, err := ask(t, m); err != nil {
		t.Errorf("two tries did not find a connection that lives: %v", err)
	}
	if n := r.opened.Load(); n < 2 {
		t.Errorf("%d connections, want a second one", n)
	}
}

func TestADeadConnectionIsFoundBeforeTheTimeout(t *testing.T) {
	t.Parallel()
	r, client := http2Behind(t)
	pings := client.Transport.(*http.Transport).HTTP2
	if pings == nil || pings.SendPingTimeout <= 0 || pings.SendPingTimeout+pings.PingTimeout > time.Minute {
		t.Fatalf("no sign of life is asked for soon enough: %+v", pings)
	}
	pings.SendPingTimeout, pings.PingTimeout = time.Second, time.Second
	m := newModel(t, llm.Config{HTTP: client, Profile: profile(t, "openai/test", `"base_url":"https://`+r.Addr().String()+`/v1","timeout":3600,"num_retries":3`)})
	if _, err := ask(t, m); err != nil {
		t.Fatal(err)
	}
	r.lose()
	if _, err := ask(t, m); err != nil { // the test's own limit is far below an hour
		t.Errorf("the dead connection was not replaced: %v", err)
	}
}

func TestTheProxyOfTheEnvironmentIsUsed(t *testing.T) {
	t.Parallel()
	var seen atomic.Pointer[string]
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		url := r.Method + " " + r.URL.String() + " " + r.Header.Get("Proxy-Authorization")
		seen.Store(&url)
		answerer(w, r)
	}))
	defer proxy.Close()
	env := map[string]string{"HTTP_PROXY": strings.Replace(proxy.URL, "//", "//user:pass@", 1)}
	client := llm.NewHTTPClient(func(name string) string { return env[name] })
	defer client.CloseIdleConnections()
	m := newModel(t, llm.Config{
		HTTP:    client,
		Profile: profile(t, "openai/test", `"base_url":"http://llm.corp.invalid/v1","num_retries":1`),
	})
	if _, err := ask(t, m); err != nil {
		t.Fatal(err)
	}
	if got, want := *seen.Load(), "POST http://llm.corp.invalid/v1/chat/completions Basic dXNlcjpwYXNz"; got != want {
		t.Errorf("the proxy was asked %q, want %q", got, want)
	}
}

func TestWhatProxiesDoIsNamed(t *testing.T) {
	t.Parallel()
	refuses := func(status int) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, tt := range []struct {
		name, proxy, code, want, advice string
	}{
		{"a login", refuses(407).URL, llm.CodeBadRequest, "refuses to connect to api.example:443: 407 Proxy Authentication Required", "USER:PASSWORD"},
		{"a rule", refuses(403).URL, llm.CodeBadRequest, "refuses to connect to api.example:443: 403 Forbidden", "NO_PROXY"},
		{"its own trouble", refuses(502).URL, llm.CodeUnavailable, "refuses to connect to api.example:443: 502 Bad Gateway", "NO_PROXY"},
		{"it is not there", gone.URL, llm.CodeUnavailable, "the proxy " + strings.TrimPrefix(gone.URL, "http://") + " refuses connections", "NO_PROXY"},
		{"it is none", "ftp://proxy", llm.CodeUnavailable, "HTTPS_PROXY is not a proxy URL", "base URL"},
	} {
		client := llm.NewHTTPClient(func(name string) string { return map[string]string{"HTTPS_PROXY": tt.proxy}[name] })
		t.Cleanup(client.CloseIdleConnections)
		m := newModel(t, llm.Config{Name: "mine", HTTP: client, Profile: profile(t, "openai/test", `"base_url":"https://api.example/v1","num_retries":1`)})
		_, err := ask(t, m)
		failed := failure(t, err)
		if failed.Code != tt.code || !strings.Contains(failed.Detail, tt.want) || !strings.Contains(failed.Detail, tt.advice) {
			t.Errorf("%s: %v", tt.name, failed)
		}
	}
}

func TestAPageIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"text/html; charset=utf-8", "", "text/plain"} {
		tries := 0
		m := newModel(t, llm.Config{Name: "mine", Profile: profile(t, "openai/test", ""), HTTP: server(func(*http.Request) (*http.Response, error) {
			tries++
			return answer(200, contentType, "<!DOCTYPE html>\n<html><head><title>Sign in to Corp</title></head></html>"), nil
		}).client()})
		_, err := ask(t, m)
		failed := failure(t, err)
		if failed.Code != llm.CodeBadRequest || tries != 1 || !strings.Contains(failed.Detail, `web page instead of an answer "Sign in to Corp"`) || !strings.Contains(failed.Detail, "base URL") {
			t.Errorf("%q, %d tries: %v", contentType, tries, failed)
		}
	}
	fake := llmtest.New(t)
	m := at(t, fake.URL, `"num_retries":1`)
	for status, code := range map[string]string{"502": llm.CodeUnavailable, "403": llm.CodeAuthentication, "404": llm.CodeNotFound, "407": llm.CodeBadRequest} {
		_, err := m.Generate(t.Context(), hello("[[html "+status+"]]"), nil)
		failed := failure(t, err)
		if failed.Code != code || !strings.Contains(failed.Detail, status+`: a web page "Bad gateway"`) || !strings.Contains(failed.Detail, "HTTPS_PROXY") {
			t.Errorf("a page with %s: %v", status, failed)
		}
	}
}

func TestCompressionThatWasNotAskedFor(t *testing.T) {
	t.Parallel()
	pack := map[string]func(io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	}
	for kind, packer := range pack {
		for status, content := range map[int]string{200: shortAnswer, 400: `{"error":{"message":"prompt is too long"}}`} {
			var packed strings.Builder
			w := packer(&packed)
			_, _ = io.WriteString(w, content)
			_ = w.Close()
			m := newModel(t, llm.Config{Profile: profile(t, "openai/test", `"num_retries":1`), HTTP: server(func(*http.Request) (*http.Response, error) {
				resp := answer(status, "text/event-stream", packed.String())
				resp.Header.Set("Content-Encoding", kind)
				return resp, nil
			}).client()})
			resp, err := ask(t, m)
			if status == 200 && (err != nil || textOf(resp) != "hello") {
				t.Errorf("%s: answer = %q, error %v", kind, textOf(resp), err)
			}
			if status == 400 {
				if failed := failure(t, err); failed.Code != llm.CodeContextWindow {
					t.Errorf("%s: %v", kind, failed)
				}
			}
		}
	}
	m := newModel(t, llm.Config{Name: "mine", Profile: profile(t, "openai/test", ""), HTTP: server(func(*http.Request) (*http.Response, error) {
		resp := answer(200, "text/event-stream", "???")
		resp.Header.Set("Content-Encoding", "br")
		return resp, nil
	}).client()})
	_, err := ask(t, m)
	if failed := failure(t, err); failed.Code != llm.CodeBadRequest || !strings.Contains(failed.Detail, `"br"`) {
		t.Errorf("br: %v", failed)
	}
}
