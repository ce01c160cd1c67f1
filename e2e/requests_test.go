//go:build e2e

package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/proxytest"
)

// TestRequestsOfATurn lists what the gateway asks of a real agent-server for one
// turn, with the time of each request: what is not in the list costs nothing,
// and what is in it is needed.
func TestRequestsOfATurn(t *testing.T) {
	llm, agents := llmtest.New(t), agentservertest.Start(t)
	agents.SaveProfile(t, "scripted", agentservertest.LLM(llm.URL))
	seen := listen(t, agents.URL)
	g := serve(t, plainProgram(t), server{seen.url, agents.Key}, "--one-shot-ttl", "1h")
	const id = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e"
	turn := func(name string, header ...string) []string {
		t.Helper()
		text, _ := prompt("[[finish Done.]]")
		seen.begin()
		began := time.Now()
		res := g.post(t, chat(text, false), header...)
		if body := bodyOf(t, res); res.StatusCode != http.StatusOK || !strings.Contains(body, "Done.") {
			t.Fatalf("%s: status = %s, body %s", name, res.Status, body)
		}
		took := time.Since(began)
		got, times := seen.end()
		t.Logf("%s: %v\n%s", name, took.Round(time.Millisecond), times)
		return got
	}
	turn("warm-up")
	const (
		look    = "GET /api/conversations/ID"         // is it there, and where does it stand
		profile = "GET /api/profiles/scripted"        // the LLM as it is now; beside it the settings: tools, MCP servers, confirmation
		create  = "POST /api/conversations"           // with all of that
		events  = "GET /sockets/session/ID"           // before the message, so that no event is missed
		message = "POST /api/conversations/ID/events" // which starts the run
	)
	named := []string{"X-OpenHands-ServerConversation-ID", id}
	for _, tc := range []struct {
		name         string
		header, want []string
	}{
		{"one-shot", nil, []string{profile, create, events, message}},
		{"first turn", named, []string{look, profile, create, events, message}},
		{"next turn", named, []string{look, events, message}},
	} {
		got := turn(tc.name, tc.header...)
		// The list of models is refreshed beside a request, at most every 2 s: it
		// takes the profiles and the settings, which say what is active.
		got = slices.DeleteFunc(got, func(name string) bool { return name == "GET /api/profiles" || name == "GET /api/settings" })
		slices.Sort(got)
		slices.Sort(tc.want)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// listener stands between the gateway and an agent-server and notes requests.
type listener struct {
	url string

	mu    sync.Mutex
	since time.Time
	names []string
	times strings.Builder
}

var anID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func listen(t *testing.T, to string) *listener {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{}
	proxy := proxytest.Duplex(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		name := r.Method + " " + anID.ReplaceAllString(r.URL.Path, "ID")
		socket := r.Header.Get("Upgrade") != ""
		l.mu.Lock()
		l.names = append(l.names, name)
		at := began.Sub(l.since)
		if socket {
			fmt.Fprintf(&l.times, "  %6.1f ms  %s (stays open)\n", ms(at), name)
		}
		l.mu.Unlock()
		proxy.ServeHTTP(w, r)
		if !socket {
			l.mu.Lock()
			fmt.Fprintf(&l.times, "  %6.1f ms  %s, %.1f ms\n", ms(at), name, ms(time.Since(began)))
			l.mu.Unlock()
		}
	}))
	t.Cleanup(srv.Close)
	l.url = srv.URL
	return l
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (l *listener) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since, l.names = time.Now(), nil
	l.times.Reset()
}

func (l *listener) end() (names []string, times string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names, l.times.String()
}
