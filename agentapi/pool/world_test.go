package pool_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/pool"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/uuid"
)

// request makes a request of the native API, as another client would.
func request(t *testing.T, s *fakeserver.Server, method, path string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := s.Client()
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode > 299 {
		t.Fatalf("request %s: %s, %v", path, res.Status, err)
	}
}

// world is fake agent-servers in a bubble, where time passes at once when everybody
// waits.
type world struct {
	*testing.T

	servers map[string]*fakeserver.Server // by address
	config  pool.Config
	pool    *pool.Backend

	mu    sync.Mutex
	named map[string][]string // what DNS says
	log   strings.Builder
	asked int // how often the model was
}

// bubble runs a test with n servers at http://a0:8000, http://a1:8000 and so on.
func bubble(t *testing.T, n int, test func(t *testing.T, w *world)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, servers: map[string]*fakeserver.Server{}, named: map[string][]string{}}
		for i := range n {
			w.add(fmt.Sprintf("http://a%d:8000", i))
		}
		w.config.Placer = placement.NewLocal(dir, time.Now)
		w.config.Open = w.open
		w.config.Lookup = w.lookup
		w.config.Slots = 4
		w.config.Logger = slog.New(slog.NewTextHandler(w, nil))
		w.config.Servers = w.addresses()
		w.start()
		defer func() { w.stop() }()
		test(t, w)
	})
}

// Write keeps the log.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

// logged counts the lines of the log with a text.
func (w *world) logged(text string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (w *world) addresses() []string {
	list := make([]string, 0, len(w.servers))
	for address := range w.servers {
		list = append(list, address)
	}
	slices.Sort(list)
	return list
}

// add makes a server at an address.
func (w *world) add(address string) *fakeserver.Server {
	s := w.server(fakeserver.Options{})
	w.servers[address] = s
	return s
}

// server makes a server that has no address yet.
func (w *world) server(opts fakeserver.Options) *fakeserver.Server {
	opts.InMemory, opts.Model = true, w.think
	s := fakeserver.New(w.T, opts)
	s.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: "http://llm.test/v1"})
	return s
}

func (w *world) think(ctx context.Context, _ fakeserver.Prompt, say func(string)) (fakeserver.Reply, error) {
	w.mu.Lock()
	w.asked++
	w.mu.Unlock()
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
		return fakeserver.Reply{}, ctx.Err()
	}
	say("ok")
	return fakeserver.Reply{Text: "ok"}, nil
}

func (w *world) open(address string) (agentapi.Backend, error) {
	s := w.servers[address]
	if s == nil {
		return nil, errors.New("no such server")
	}
	return agentserver.New(agentserver.Config{URL: address, HTTP: s.Client()})
}

func (w *world) lookup(_ context.Context, host, port string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	hosts, ok := w.named[host]
	if !ok {
		return nil, errors.New("no such host")
	}
	var list []string
	for _, h := range hosts {
		list = append(list, h+":"+port)
	}
	return list, nil
}

// resolve is what DNS says of a name from now on.
func (w *world) resolve(host string, to ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.named[host] = to
}

// start starts the gateway, with its notes of before.
func (w *world) start() {
	w.Helper()
	b, err := pool.New(w.config)
	if err != nil {
		w.Fatal(err)
	}
	w.pool = b
	if st := b.Status(w.Context()); st.Err != nil {
		w.Logf("at the start: %v", st.Err)
	}
}

func (w *world) stop() {
	w.Helper()
	if err := w.pool.Close(); err != nil {
		w.Error(err)
	}
}

// begin makes a conversation, or opens it.
func (w *world) begin(req agentapi.OpenRequest) (agentapi.Conversation, error) {
	w.Helper()
	if req.ID == "" {
		req.ID, req.New = uuid.New(), true
	}
	if !req.Existing && req.Profile == "" {
		req.Profile = "fast"
	}
	req.Workspace = "/w"
	return w.pool.Open(w.Context(), req)
}

// made is begin, which must work.
func (w *world) made(req agentapi.OpenRequest) agentapi.Conversation {
	w.Helper()
	c, err := w.begin(req)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// at is the address of the one server that has a conversation.
func (w *world) at(id string) string {
	w.Helper()
	at := ""
	for address, s := range w.servers {
		if slices.Contains(s.Conversations(), id) {
			if at != "" {
				w.Errorf("conversation %s is at %s and %s", id, at, address)
			}
			at = address
		}
	}
	if at == "" {
		w.Errorf("no server has conversation %s", id)
	}
	return at
}

// spread makes conversations and lets go of them. It gives how many each server got.
func (w *world) spread(n int) map[string]int {
	w.Helper()
	counts := map[string]int{}
	for range n {
		c := w.made(agentapi.OpenRequest{})
		counts[w.at(c.Info().ID)]++
		if err := c.Close(); err != nil {
			w.Error(err)
		}
	}
	return counts
}

// say runs a turn.
func (w *world) say(c agentapi.Conversation) (turn.Result, error) {
	return turn.Run(w.Context(), c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}})
}

// member is the status of a member; the zero one if there is not one.
func (w *world) member(name string) agentapi.Member {
	for _, m := range w.pool.Status(w.Context()).Members {
		if m.Name == name {
			return m
		}
	}
	return agentapi.Member{}
}

func (w *world) state(name string, want agentapi.MemberState) {
	w.Helper()
	if m := w.member(name); m.State != want {
		w.Errorf("%s is %q, want %q: %+v", name, m.State, want, m)
	}
}

// wantKind checks the kind of an error, and that it has a sentence.
func (w *world) wantKind(err, kind error) {
	w.Helper()
	if !errors.Is(err, kind) || agentapi.PublicMessage(err, "") == "" {
		w.Errorf("error is %v, want %v", err, kind)
	}
}
