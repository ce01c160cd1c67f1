package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// restarting is a remote server that can lose its sessions. It counts the calls that
// its tools have run.
type restarting struct {
	handler atomic.Pointer[http.Handler]
	ran     atomic.Int32
	inside  chan struct{} // gets one when the tool "wait" runs
	leave   chan struct{} // lets it go

	// refuse answers for a session that is not known; nil: as the SDK does, 404.
	refuse func(http.ResponseWriter)
	mu     sync.Mutex
	all    []*sdk.Server
	known  map[string]bool
}

func startRestarting(t *testing.T, refuse func(http.ResponseWriter)) (r *restarting, url string) {
	t.Helper()
	r = &restarting{inside: make(chan struct{}, 8), leave: make(chan struct{}), refuse: refuse}
	r.restart()
	web := httptest.NewServer(r)
	t.Cleanup(func() {
		for _, s := range r.all {
			for session := range s.Sessions() {
				_ = session.Close()
			}
		}
		web.Close()
	})
	return r, web.URL
}

// restart forgets all sessions.
func (r *restarting) restart() {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	text := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ok"}}}
	s.AddTool(&sdk.Tool{Name: "count", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			r.ran.Add(1)
			return text, nil
		})
	s.AddTool(&sdk.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			r.ran.Add(1)
			r.inside <- struct{}{}
			<-r.leave
			return text, nil
		})
	var h http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	r.mu.Lock()
	r.known, r.all = map[string]bool{}, append(r.all, s)
	r.mu.Unlock()
	r.handler.Store(&h)
}

func (r *restarting) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	id := req.Header.Get("Mcp-Session-Id")
	r.mu.Lock()
	unknown := id != "" && !r.known[id]
	r.mu.Unlock()
	if unknown && r.refuse != nil {
		r.refuse(w)
		return
	}
	(*r.handler.Load()).ServeHTTP(&noting{w, r}, req)
}

// noting notes the sessions that the server makes.
type noting struct {
	http.ResponseWriter
	r *restarting
}

func (n *noting) WriteHeader(code int) {
	n.r.mu.Lock()
	n.r.known[n.Header().Get("Mcp-Session-Id")] = true
	n.r.mu.Unlock()
	n.ResponseWriter.WriteHeader(code)
}

func (n *noting) Write(p []byte) (int, error) {
	n.r.mu.Lock()
	n.r.known[n.Header().Get("Mcp-Session-Id")] = true
	n.r.mu.Unlock()
	return n.ResponseWriter.Write(p)
}

func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }
func (n *noting) Flush()                      { _ = http.NewResponseController(n.ResponseWriter).Flush() }

func answer(code int, kind, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// refusals are how servers say that they do not know a session.
var refusals = map[string]func(http.ResponseWriter){
	"Go":                nil,
	"nothing but 404":   answer(404, "", ""),
	"TypeScript":        answer(404, "application/json", `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`),
	"older TypeScript":  answer(400, "application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`),
	"not initialized":   answer(400, "application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`),
	"Python":            answer(400, "application/json", `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: No valid session ID provided"}}`),
	"a text":            answer(400, "text/plain", "Invalid or missing session ID"),
	"404 with a number": answer(404, "application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"gone"},"id":3}`),
}

func TestARestartedServerIsMetAgain(t *testing.T) {
	t.Parallel()
	for name, refuse := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, url := startRestarting(t, refuse)
			pool := newPool()
			cfg := config(`{"srv":{"url":"` + url + `"}}`)
			cfg.Pool = pool
			c := connect(t, cfg)
			for i := range int32(3) {
				server.restart()
				// Of several calls at once each is run once.
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						result, err := find(t, c, "count").Run(t.Context(), tool.Call{Args: json.RawMessage(`{}`)})
						if err != nil || result.IsError {
							t.Errorf("after the restart: %s, %v", result.Observation, err)
						}
					})
				}
				wg.Wait()
				if n := server.ran.Load(); n != 4*(i+1) {
					t.Fatalf("%d calls ran, want %d", n, 4*(i+1))
				}
			}
			server.restart()
			other := connect(t, cfg) // a new conversation
			if got, isError := call(t, other, "count", `{}`); isError {
				t.Error(got)
			}
		})
	}
}

// A call that the server began may have done its work.
func TestACallThatRanIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	server, url := startRestarting(t, refusals["TypeScript"])
	c := connect(t, config(`{"srv":{"url":"`+url+`"}}`))
	ended := make(chan string)
	go func() {
		result, err := find(t, c, "wait").Run(t.Context(), tool.Call{Args: json.RawMessage(`{}`)})
		if err != nil {
			t.Error(err)
		}
		ended <- string(result.Observation)
	}()
	<-server.inside
	server.restart()
	if got, isError := call(t, c, "count", `{}`); isError {
		t.Error(got)
	}
	close(server.leave)
	<-ended
	if n := server.ran.Load(); n != 2 {
		t.Errorf("%d calls ran, want 2", n)
	}
}

// Other refusals are answers, and a server that refuses always is asked twice.
func TestOtherRefusalsAreAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refuse func(http.ResponseWriter)
		calls  int32
		want   string
	}{
		"always":              {refusals["TypeScript"], 2, "failed"},
		"wrong parameters":    {answer(400, "application/json", `{"jsonrpc":"2.0","error":{"code":-32602,"message":"no such session"},"id":null}`), 1, "failed"},
		"another 400":         {answer(400, "text/plain", "bad header"), 1, "failed"},
		"a failure":           {answer(500, "text/plain", "session store is down"), 1, "failed"},
		"a failure with JSON": {answer(500, "application/json", `{"jsonrpc":"2.0","error":{"code":-32603,"message":"session store is down"},"id":null}`), 1, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, _ := startRestarting(t, nil)
			var refusing atomic.Bool
			var calls atomic.Int32
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if refusing.Load() && strings.Contains(string(body), "tools/call") {
					calls.Add(1)
					test.refuse(w)
					return
				}
				server.ServeHTTP(w, r)
			}))
			t.Cleanup(web.Close)
			c := connect(t, config(`{"srv":{"url":"`+web.URL+`"}}`))
			refusing.Store(true)
			if got, isError := call(t, c, "count", `{}`); !isError || !strings.Contains(got, test.want) || calls.Load() != test.calls {
				t.Errorf("%d calls: %s", calls.Load(), got)
			}
			refusing.Store(false)
			if got, isError := call(t, c, "count", `{}`); isError {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
}

func newPool() *mcp.Pool { return mcp.NewPool(sandbox.Outside(sandbox.Off, sandbox.Mark{})) }
