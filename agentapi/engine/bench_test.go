package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/uuid"
)

// instant is a model that answers at once.
type instant struct{ usage string }

func (i instant) Info() llm.Info {
	return llm.Info{Model: "openai/instant", UsageID: i.usage, Vision: true, NativeTools: true, Streams: true}
}

func (instant) Generate(_ context.Context, _ llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	for range 3 {
		if onDelta == nil { // a summary
			break
		}
		onDelta(llm.Delta{Text: "hello "})
	}
	return llm.Response{
		ID: "r", Message: event.LLMMessage{Role: "assistant", Content: []event.Content{event.Text("hello hello hello ")}},
		Usage: event.TokenUsage{PromptTokens: 10, CompletionTokens: 3},
	}, nil
}

func instantEngine(b *testing.B) *engine.Backend {
	b.Helper()
	cfg := enginetest.Config(b, "", enginetest.NewProfiles("main", "instant"))
	cfg.NewModel = func(_ engine.Profile, usage string) (llm.Model, error) { return instant{usage}, nil }
	e := engine.New(cfg)
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	return e
}

func opened(b *testing.B, e *engine.Backend, workspace string) agentapi.Conversation {
	b.Helper()
	c, err := e.Open(b.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "main", Workspace: workspace})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func hello(b *testing.B, c agentapi.Conversation) {
	b.Helper()
	res, err := turn.Run(b.Context(), c, turn.Input{Message: agentapi.Message{Text: "hello"}, Emit: func(turn.Update) {}})
	if err != nil || res.Outcome != turn.Finished {
		b.Errorf("turn: %+v, %v", res, err)
	}
}

// BenchmarkHelloTurn is what a turn costs beyond the model, with fsync.
func BenchmarkHelloTurn(b *testing.B) {
	e := instantEngine(b)
	workspace := b.TempDir()
	for b.Loop() {
		b.StopTimer()
		c := opened(b, e, workspace)
		b.StartTimer()
		hello(b, c)
		b.StopTimer()
		if err := e.Remove(b.Context(), c.Info().ID); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkTurnOfALongConversation is a turn after so many others.
func BenchmarkTurnOfALongConversation(b *testing.B) {
	for _, turns := range []int{5, 500} {
		b.Run(strconv.Itoa(turns), func(b *testing.B) {
			c := opened(b, instantEngine(b), b.TempDir())
			for range turns {
				hello(b, c)
			}
			b.ResetTimer()
			for range b.N {
				hello(b, c)
			}
		})
	}
}

// BenchmarkParallelTurns is 16 clients with conversations of their own.
func BenchmarkParallelTurns(b *testing.B) {
	e := instantEngine(b)
	workspace := b.TempDir()
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		c := opened(b, e, workspace)
		for pb.Next() {
			hello(b, c)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

// BenchmarkOneShots is conversations of one turn that are removed; what they
// leave is reported for each.
func BenchmarkOneShots(b *testing.B) {
	e := instantEngine(b)
	workspace := b.TempDir()
	before := heap()
	for b.Loop() {
		c := opened(b, e, workspace)
		hello(b, c)
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
		if err := e.Remove(b.Context(), c.Info().ID); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(heap()-before)/float64(b.N), "left-B/op")
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Benchmark200Conversations is the memory of open conversations.
func Benchmark200Conversations(b *testing.B) {
	for b.Loop() {
		e := instantEngine(b)
		workspace := b.TempDir()
		before := heap()
		var all sync.WaitGroup
		for range 200 {
			c := opened(b, e, workspace)
			all.Go(func() {
				for range 10 {
					hello(b, c)
				}
			})
		}
		all.Wait()
		b.ReportMetric(float64(heap()-before)/(1<<20), "MB")
	}
}

// BenchmarkOpen10000Events opens a long conversation.
func BenchmarkOpen10000Events(b *testing.B) {
	cfg := enginetest.Config(b, "", enginetest.NewProfiles("main", "instant"))
	cfg.NewModel = func(_ engine.Profile, usage string) (llm.Model, error) { return instant{usage}, nil }
	id := longConversation(b, cfg, 10_000)
	for b.Loop() {
		e := engine.New(cfg)
		if _, err := e.Open(b.Context(), agentapi.OpenRequest{ID: id}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func longConversation(b *testing.B, cfg engine.Config, events int) string {
	b.Helper()
	e := engine.New(cfg)
	c := opened(b, e, b.TempDir())
	hello(b, c)
	id := c.Info().ID
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(store.Path(cfg.Dir, id), "events")
	state, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	parent, n := "", len(state)-1 // without the lock
	for i := n; i < events; i++ {
		m := event.LLMMessage{Role: "user", Content: []event.Content{event.Text(strings.Repeat("word ", 40))}, ThinkingBlocks: []json.RawMessage{}}
		ev := event.New(uuid.New(), "2026-11-21T12:00:00.000000", event.SourceEnvironment, parent, &event.Message{
			LLMMessage: m, ActivatedSkills: []string{}, ExtendedContent: []event.Content{},
		})
		data, err := json.Marshal(ev)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("event-%05d-%s.json", i, ev.ID)), data, 0o600)
		}
		if err != nil {
			b.Fatal(err)
		}
		parent = ev.ID
	}
	return id
}
