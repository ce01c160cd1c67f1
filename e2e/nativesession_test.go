//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/proxytest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// wire is a way to a server that can be cut.
type wire struct {
	url string

	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	sessions int
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{conns: map[net.Conn]struct{}{}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if strings.HasPrefix(r.In.URL.Path, "/sockets/session/") {
				w.mu.Lock()
				w.sessions++
				w.mu.Unlock()
			}
			if r.In.Body != nil { // names of tags that begin with ohgw are refused there
				body, _ := io.ReadAll(r.In.Body) // what is missing is refused
				body = bytes.ReplaceAll(body, []byte(`"ohgw`), []byte(`"away`))
				r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			}
			r.SetURL(target)
			r.Out.Host = target.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ModifyResponse: func(res *http.Response) error {
			if res.StatusCode == http.StatusSwitchingProtocols {
				return nil
			}
			body, err := io.ReadAll(res.Body)
			body = bytes.ReplaceAll(body, []byte(`"away`), []byte(`"ohgw`))
			res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			res.Header.Del("Content-Length")
			return err
		},
	}
	server := httptest.NewUnstartedServer(proxytest.Duplex(proxy))
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if state == http.StateNew {
			w.conns[c] = struct{}{}
		}
	}
	server.Start()
	t.Cleanup(func() { w.cut(); server.Close() })
	w.url = server.URL
	return w
}

// cut breaks all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn := range w.conns {
		_ = conn.Close()
	}
	clear(w.conns)
}

// TestNoCutLosesOrDoublesAnythingOfASession has the client for agent-servers read the
// sockets of sessions of the embedded engine, and cuts its connections at any places.
func TestNoCutLosesOrDoublesAnythingOfASession(t *testing.T) {
	t.Parallel()
	const sentence, turns = "This is the answer, in some more words than one.", 12
	llm := llmtest.New(t)
	g := serveEmbedded(t, racyProgram(t), llm.URL, "--native", "--sandbox", "off")
	way := newWire(t, g.URL)
	b, err := agentserver.New(agentserver.Config{URL: way.url, Key: func() string { return gatewayKey }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	for seed := range uint64(turns) {
		random := rand.New(rand.NewPCG(seed, 0))
		call := llmtest.Tool("terminal", `{"command":"echo hi"}`)
		call.Text = "Looking."
		llm.Reply(call, llmtest.Reply{Text: sentence, Pace: 5 * time.Millisecond})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		c, err := b.Open(ctx, agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "scripted", Workspace: dir})
		if err != nil {
			t.Fatal(err)
		}
		var live strings.Builder
		next := random.IntN(6)
		res, err := turn.Run(ctx, c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(u turn.Update) {
			if u.Kind == turn.Text {
				live.WriteString(u.Text)
			}
			if next--; next < 0 {
				way.cut()
				next = random.IntN(6)
			}
		}})
		cancel()
		if err := errors.Join(err, c.Close()); err != nil || res.Outcome != turn.Finished || res.Answer != sentence {
			t.Errorf("seed %d: %+v, %v", seed, res, err)
		}
		if diff := cmp.Diff("Looking.\n\n"+sentence, live.String()); diff != "" {
			t.Errorf("seed %d: live text (-want +got):\n%s", seed, diff)
		}
	}
	way.mu.Lock()
	defer way.mu.Unlock()
	if way.sessions <= turns {
		t.Errorf("%d sockets of sessions for %d turns: nothing was cut", way.sessions, turns)
	}
}
