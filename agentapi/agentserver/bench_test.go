package agentserver_test

import (
	"context"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/uuid"
)

// instant answers at once.
func instant(_ context.Context, _ fakeserver.Prompt, say func(string)) (fakeserver.Reply, error) {
	say("ok")
	return fakeserver.Reply{Text: "ok", Usage: fakeserver.Usage{Prompt: 100, Completion: 10}}, nil
}

func benchmarked(b *testing.B) (*fakeserver.Server, *agentserver.Backend) {
	b.Helper()
	server := fakeserver.New(b, fakeserver.Options{Model: instant})
	server.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: "http://llm.test/v1", Key: "sk-llm"})
	backend, err := agentserver.New(agentserver.Config{URL: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := backend.Close(); err != nil {
			b.Error(err)
		}
	})
	return server, backend
}

// oneShot opens a conversation, runs a turn in it and removes it.
func oneShot(ctx context.Context, b agentapi.Backend) error {
	req := agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast", Workspace: "/tmp/ohgw-bench"}
	c, err := b.Open(ctx, req)
	if err != nil {
		return err
	}
	if err := oneTurn(ctx, c); err != nil {
		return err
	}
	return b.Remove(ctx, req.ID)
}

func oneTurn(ctx context.Context, c agentapi.Conversation) error {
	_, err := turn.Run(ctx, c, turn.Input{Message: agentapi.Message{Text: "hello"}, Emit: func(turn.Update) {}})
	return err
}

func BenchmarkOneShotWithTheFakeServer(b *testing.B) {
	server, backend := benchmarked(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := oneShot(b.Context(), backend); err != nil {
				b.Error(err)
				return
			}
			server.Forget()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

func BenchmarkTurnWithTheFakeServer(b *testing.B) {
	server, backend := benchmarked(b)
	c, err := backend.Open(b.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast", Workspace: "/w"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := oneTurn(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		server.Forget()
	}
}
