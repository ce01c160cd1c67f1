// Package apitest is a gateway in memory over a scripted agent, for tests of the APIs: its
// clients with their keys, and what they expect of its answers.
package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/sse"
)

// Gateway is a daemon that serves a scripted backend.
type Gateway struct {
	T       testing.TB
	Backend *daemontest.Backend
	Daemon  *daemon.Daemon
	Client  *http.Client
	Logs    *Log
	Stop    func() error // drains and waits for Serve
}

// Serve starts a gateway on a listener in memory, which works in a synctest
// bubble too. It ends with the test.
func Serve(t testing.TB, b *daemontest.Backend, change ...func(*daemon.Config)) *Gateway {
	t.Helper()
	ln := NewPipes()
	g := ServeOn(t, ln, b, change...)
	g.Client = &http.Client{Transport: &http.Transport{DialContext: ln.Dial}}
	t.Cleanup(g.Client.CloseIdleConnections)
	return g
}

// ServeOn starts a gateway on a listener. It ends with the test.
func ServeOn(t testing.TB, ln net.Listener, b *daemontest.Backend, change ...func(*daemon.Config)) *Gateway {
	t.Helper()
	g := &Gateway{T: t, Backend: b, Logs: &Log{}}
	cfg := daemon.Config{
		Config: gate.Config{
			Backend: b, Tokens: Tokens{},
			Logger: slog.New(slog.NewJSONHandler(g.Logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		},
		Why: "the test says so", Version: "9.9.9",
	}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	if g.Daemon, err = daemon.New(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- g.Daemon.Serve(ctx, ln) }()
	g.Stop = sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := errors.Join(g.Daemon.Close(), b.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return g
}

// Request makes a request with the key; an empty header value takes a header away.
func (g *Gateway) Request(method, path, body string, header ...string) *http.Request {
	g.T.Helper()
	r, err := http.NewRequestWithContext(g.T.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		g.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+Key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		switch {
		case header[i] == "Host":
			r.Host = header[i+1]
		case header[i+1] == "":
			r.Header.Del(header[i])
		default:
			r.Header.Set(header[i], header[i+1])
		}
	}
	return r
}

// Do sends a request and returns its answer.
func (g *Gateway) Do(method, path, body string, header ...string) Response {
	g.T.Helper()
	return g.Finish(g.Send(g.Request(method, path, body, header...)))
}

// Chat asks for a chat completion.
func (g *Gateway) Chat(body string, header ...string) Response {
	g.T.Helper()
	return g.Do(http.MethodPost, "/v1/chat/completions", body, header...)
}

// Send sends a request. The caller closes the body of the answer.
func (g *Gateway) Send(r *http.Request) *http.Response {
	g.T.Helper()
	res, err := g.Client.Do(r)
	if err != nil {
		g.T.Fatal(err)
	}
	return res
}

// Finish reads an answer to its end.
func (g *Gateway) Finish(res *http.Response) Response {
	g.T.Helper()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return Response{Status: res.StatusCode, Header: res.Header, Body: string(body), Close: res.Close, Err: err}
}

// Ask is the body of a request with one message.
func Ask(prompt string, more ...string) string {
	quoted, err := json.Marshal(prompt)
	if err != nil {
		panic(err)
	}
	return Messages(`{"role":"user","content":`+string(quoted)+`}`, more...)
}

// Messages is the body of a request with these messages.
func Messages(list string, more ...string) string {
	return `{"model":"openhands_default","messages":[` + list + `]` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// Streamed is the member of a request that asks for a stream.
const Streamed = `"stream":true`

// Script makes a backend with the profile default that always does this.
func Script(steps ...daemontest.Step) *daemontest.Backend {
	b := daemontest.New("default", "cheap")
	b.Script = func(string) []daemontest.Step { return steps }
	return b
}

// Log is what a daemon logged.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write takes lines in.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String is all that was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// StateIn keeps the state of a daemon in a directory.
func StateIn(dir string) func(*daemon.Config) {
	return func(c *daemon.Config) { c.StateDir = dir }
}

// Again is another process on the same state directory and the same agents.
func (g *Gateway) Again(dir string) *Gateway {
	g.T.Helper()
	if err := errors.Join(g.Stop(), g.Daemon.Close()); err != nil {
		g.T.Fatal(err)
	}
	return Serve(g.T, g.Backend, StateIn(dir))
}

// As asks with a key in a conversation.
func (g *Gateway) As(bearer, model, prompt, id string, header ...string) Response {
	g.T.Helper()
	body := strings.Replace(Ask(prompt), "openhands_default", model, 1)
	return g.Chat(body, append([]string{"Authorization", "Bearer " + bearer, HeaderID, id}, header...)...)
}

// By makes a request with a key.
func (g *Gateway) By(bearer, method, path, body string, header ...string) Response {
	g.T.Helper()
	return g.Do(method, path, body, append([]string{"Authorization", "Bearer " + bearer}, header...)...)
}

// Try sends a request as it is; ok is false if there was no answer of ours.
func (g *Gateway) Try(method, path, host string) (Response, bool) {
	g.T.Helper()
	res, err := g.Client.Do(g.Request(method, path, "", "Host", host))
	if err != nil {
		return Response{}, false
	}
	out := g.Finish(res)
	return out, out.Header.Get("X-Request-Id") != ""
}

// Cut begins a stream, reads n frames and hangs up.
func (g *Gateway) Cut(body string, n int, header ...string) {
	g.T.Helper()
	ctx, cancel := context.WithCancel(g.T.Context())
	defer cancel()
	res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", body, header...).WithContext(ctx))
	defer res.Body.Close()
	r := sse.NewReader(res.Body, 1<<20)
	for range n {
		if _, err := r.Next(); err != nil {
			g.T.Fatal(err)
		}
	}
}

// Scrape reads the metrics and misses the lines that are not there.
func (g *Gateway) Scrape(want ...string) {
	g.T.Helper()
	res := g.Do(http.MethodGet, "/metrics", "")
	if res.Status != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		g.T.Fatalf("status %d, %s", res.Status, res.Header.Get("Content-Type"))
	}
	for _, line := range want {
		if !strings.Contains(res.Body, line+"\n") {
			name, _, _ := strings.Cut(line, "{")
			var near []string
			for l := range strings.Lines(res.Body) {
				if strings.HasPrefix(l, name) && !strings.Contains(l, "_bucket") {
					near = append(near, l)
				}
			}
			g.T.Errorf("no line %s, but\n%s", line, strings.Join(near, ""))
		}
	}
}
