//go:build e2e

package agentserver_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// cable is a way to a server that can be cut.
type cable struct {
	url string

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{url: "http://" + listener.Addr().String(), conns: map[net.Conn]struct{}{}}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		c.cut()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			var dialer net.Dialer
			server, err := dialer.DialContext(context.Background(), "tcp", strings.TrimPrefix(to, "http://"))
			if err != nil {
				_ = client.Close()
				continue
			}
			c.mu.Lock()
			c.conns[client], c.conns[server] = struct{}{}, struct{}{}
			c.mu.Unlock()
			for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
				wg.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
					_ = pair[1].Close()
				})
			}
		}
	})
	return c
}

// cut breaks all connections.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns {
		_ = conn.Close()
	}
	clear(c.conns)
}

// sessionSetup is a backend over a cable to a real server, with a profile that asks
// its model again.
func sessionSetup(t *testing.T, version string) (*agentserver.Backend, *cable, *llmtest.Server) {
	t.Helper()
	server, llm := agentservertest.StartVersion(t, version), llmtest.New(t)
	config := agentservertest.LLM(llm.URL)
	config["num_retries"] = 3
	server.SaveProfile(t, "fast", config)
	way := newCable(t, server.URL)
	b, err := agentserver.New(agentserver.Config{URL: way.url, Key: func() string { return server.Key }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, way, llm
}

// TestNoCutLosesOrDoublesAnythingOfARealServer cuts all connections at any places of
// turns with a tool and a text.
func TestNoCutLosesOrDoublesAnythingOfARealServer(t *testing.T) {
	t.Parallel()
	versions := []string{agentservertest.Newest, agentservertest.Earlier}
	if another := os.Getenv("OHGW_TEST_AGENT_SERVER_VERSION"); another != "" {
		versions = []string{another}
	}
	for _, version := range versions {
		b, way, llm := sessionSetup(t, version)
		const turns = 15
		dir := t.TempDir()
		for seed := range uint64(turns) {
			random := rand.New(rand.NewPCG(seed, 0))
			call := llmtest.Tool("terminal", `{"command":"echo hi"}`)
			call.Text = "Looking."
			llm.Reply(call, llmtest.Reply{Text: sentence, Pace: 5 * time.Millisecond})
			c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast", Workspace: dir})
			if err != nil {
				t.Fatal(err)
			}
			var live strings.Builder
			next := random.IntN(6)
			res, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(u turn.Update) {
				if u.Kind == turn.Text {
					live.WriteString(u.Text)
				}
				if next--; next < 0 {
					way.cut()
					next = random.IntN(6)
				}
			}})
			if err := errors.Join(err, c.Close()); err != nil || res.Outcome != turn.Finished || res.Answer != sentence {
				t.Errorf("version %s, seed %d: %+v, %v", version, seed, res, err)
			}
			if diff := cmp.Diff("Looking.\n\n"+sentence, live.String()); diff != "" {
				t.Errorf("version %s, seed %d: live text (-want +got):\n%s", version, seed, diff)
			}
			page, err := b.Events(t.Context(), c.Info().ID, agentapi.EventQuery{})
			if err != nil {
				t.Error(err)
			}
			if got := questions(page.Events); len(got) != 1 {
				t.Errorf("version %s, seed %d: messages %q", version, seed, got)
			}
		}
	}
}

// TestSecondAttemptOfARealServerIsAParagraph lets a provider break off a text.
func TestSecondAttemptOfARealServerIsAParagraph(t *testing.T) {
	t.Parallel()
	b, _, llm := sessionSetup(t, agentservertest.Newest)
	llm.Reply(llmtest.Reply{Text: "half of it", End: llmtest.Cut}, llmtest.Text("the answer"))
	c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast", Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var live strings.Builder
	res, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(u turn.Update) {
		if u.Kind == turn.Text {
			live.WriteString(u.Text)
		}
	}})
	if err := errors.Join(err, c.Close()); err != nil || res.Answer != "the answer" || live.String() != "half of it\n\nthe answer" {
		t.Errorf("live text %q, turn %+v, %v", live.String(), res, err)
	}
}

// TestEventAboveTheFrameOfARealSessionSocketIsRead has a message of 5 MiB, for which the
// server closes the session socket.
func TestEventAboveTheFrameOfARealSessionSocketIsRead(t *testing.T) {
	t.Parallel()
	b, _, llm := sessionSetup(t, agentservertest.Newest)
	llm.Reply(llmtest.Text("the answer"), llmtest.Text("the next"))
	c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast", Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []agentapi.Message{{Text: strings.Repeat("0123456789abcdef", 5<<16)}, {Text: "and?"}} {
		res, err := turn.Run(t.Context(), c, turn.Input{Message: message, Emit: func(turn.Update) {}})
		if err != nil || !strings.HasPrefix(res.Answer, "the ") {
			t.Errorf("turn %+v, %v", res, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
