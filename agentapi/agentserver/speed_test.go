//go:build e2e

package agentserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// clients are how many talk to the server at once in these benchmarks.
const clients = 16

// realServer is one with a model that answers at once.
func realServer(b *testing.B) (*agentservertest.Server, map[string]any, *agentserver.Backend) {
	b.Helper()
	model := llmtest.New(b)
	model.On(llmtest.Says(""), llmtest.Text("ok"))
	server := agentservertest.Start(b)
	llm := agentservertest.LLM(model.URL)
	server.SaveProfile(b, "fast", llm)
	backend, err := agentserver.New(agentserver.Config{URL: server.URL, Key: func() string { return server.Key }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := backend.Close(); err != nil {
			b.Error(err)
		}
	})
	return server, llm, backend
}

// BenchmarkRealOneShot compares the seam with the same calls made by hand.
func BenchmarkRealOneShot(b *testing.B) {
	server, llm, backend := realServer(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients, IdleConnTimeout: 4 * time.Second}}
	defer client.CloseIdleConnections()
	native := &nativeAPI{server: server, llm: llm, client: client, dir: b.TempDir()}
	for name, one := range map[string]func(context.Context) error{
		"native":  native.oneShot,
		"backend": func(ctx context.Context) error { return oneShot(ctx, backend) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(clients / 2)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := one(b.Context()); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
		})
	}
}

// BenchmarkRealTurn is a further turn of one conversation, and how long after
// the agent's last event it is over.
func BenchmarkRealTurn(b *testing.B) {
	_, _, backend := realServer(b)
	c, err := backend.Open(b.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast", Workspace: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	timed := &timedConversation{Conversation: c}
	if err := oneTurn(b.Context(), timed); err != nil { // the first one builds the prompt and the tools
		b.Fatal(err)
	}
	timed.tail = 0
	b.ResetTimer()
	for b.Loop() {
		if err := oneTurn(b.Context(), timed); err != nil {
			b.Fatal(err)
		}
		timed.tail += time.Since(timed.last)
	}
	b.ReportMetric(float64(timed.tail.Microseconds())/float64(b.N), "µs-after-last-event")
}

// timedConversation notes when the agent's last event came.
type timedConversation struct {
	agentapi.Conversation
	last time.Time
	tail time.Duration
}

func (c *timedConversation) Watch(ctx context.Context, after string) (agentapi.Stream, error) {
	s, err := c.Conversation.Watch(ctx, after)
	return &timedStream{s, c}, err
}

type timedStream struct {
	agentapi.Stream
	c *timedConversation
}

func (s *timedStream) Next(ctx context.Context) (event.Event, error) {
	e, err := s.Stream.Next(ctx)
	if e.Source == event.SourceAgent {
		s.c.last = time.Now()
	}
	return e, err
}

// nativeAPI makes the calls of a one-shot by hand, as few as there can be.
type nativeAPI struct {
	server *agentservertest.Server
	llm    map[string]any
	client *http.Client
	dir    string
}

func (n *nativeAPI) oneShot(ctx context.Context) error {
	id := uuid.New()
	path := "/api/conversations/" + id
	err := n.call(ctx, http.MethodPost, "/api/conversations", map[string]any{
		"conversation_id": id, "autotitle": false, "workspace": map[string]any{"working_dir": n.dir},
		"agent": map[string]any{"kind": "Agent", "llm": n.llm, "tools": []any{
			map[string]any{"name": "terminal"}, map[string]any{"name": "file_editor"}, map[string]any{"name": "task_tracker"},
		}},
	})
	if err != nil {
		return err
	}
	url := "ws" + strings.TrimPrefix(n.server.URL, "http") + "/sockets/events/" + id
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"X-Session-API-Key": {n.server.Key}}})
	if err != nil {
		return err
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(1 << 26)
	if _, _, err := ws.Read(ctx); err != nil {
		return err
	}
	err = n.call(ctx, http.MethodPost, path+"/events", map[string]any{
		"role": "user", "run": true, "content": []any{map[string]any{"type": "text", "text": "hello"}},
	})
	for ran := false; err == nil; {
		var data []byte
		var e event.Event
		if _, data, err = ws.Read(ctx); err != nil {
			return err
		}
		err = json.Unmarshal(data, &e)
		if s, ok := e.StatusUpdate(); ok && s == event.Running {
			ran = true
		}
		if s, ok, _ := e.FullState(); ok && ran && s.Status != event.Running {
			break
		}
	}
	return errors.Join(err, n.call(ctx, http.MethodDelete, path, nil))
}

func (n *nativeAPI) call(ctx context.Context, method, path string, in any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, n.server.URL+path, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-API-Key", n.server.Key)
	res, err := n.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(new(any)); err != nil || res.StatusCode > 299 {
		return fmt.Errorf("%s %s: %s, %w", method, path, res.Status, err)
	}
	return nil
}
