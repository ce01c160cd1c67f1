package run_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/rescue"
	"github.com/ohgw/ohgw/internal/uuid"
)

// brittle is a backend in front of another one that panics in one method.
type brittle struct {
	*backend
	mu sync.Mutex
	in string // the method; empty: none
}

func (b *brittle) breaks(in string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.in == in {
		panic("broken with the key sk-proj-abcdefghijklmnop in " + in)
	}
}

func (b *brittle) set(in string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.in = in
}

func (b *brittle) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	b.breaks("Open")
	c, err := b.backend.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	return brittleConv{c, b}, nil
}

func (b *brittle) Remove(ctx context.Context, id string) error {
	b.breaks("Remove")
	return b.backend.Remove(ctx, id)
}

type brittleConv struct {
	agentapi.Conversation
	b *brittle
}

func (c brittleConv) Info() agentapi.Info { c.b.breaks("Info"); return c.Conversation.Info() }

func (c brittleConv) Watch(ctx context.Context, after string) (agentapi.Stream, error) {
	c.b.breaks("Watch")
	s, err := c.Conversation.Watch(ctx, after)
	return brittleStream{s, c.b}, err
}

func (c brittleConv) Send(ctx context.Context, m agentapi.Message) error {
	c.b.breaks("Send")
	return c.Conversation.Send(ctx, m)
}

func (c brittleConv) Interrupt(ctx context.Context) error {
	c.b.breaks("Interrupt")
	return c.Conversation.Interrupt(ctx)
}

func (c brittleConv) Switch(ctx context.Context, profile string) error {
	c.b.breaks("Switch")
	return c.Conversation.Switch(ctx, profile)
}

func (c brittleConv) Fork(ctx context.Context, req agentapi.ForkRequest) (agentapi.Conversation, error) {
	c.b.breaks("Fork")
	return c.Conversation.Fork(ctx, req)
}

func (c brittleConv) Close() error { c.b.breaks("Close"); return c.Conversation.Close() }

type brittleStream struct {
	agentapi.Stream
	b *brittle
}

func (s brittleStream) Next(ctx context.Context) (event.Event, error) {
	s.b.breaks("Next")
	e, err := s.Stream.Next(ctx)
	if m, ok := e.Body.(*event.Message); ok && m.LLMMessage.Role == "user" {
		s.b.breaks("Next after the message")
	}
	return e, err
}

func (s brittleStream) Close() error { s.b.breaks("Stream.Close"); return s.Stream.Close() }

// A chat whose callbacks panic.
type brittleChat struct{ b *brittle }

func (c brittleChat) Compose(agentapi.Info, bool) (text, kind, line string) {
	c.b.breaks("Compose")
	return "", "new", ""
}
func (c brittleChat) Begin(turn.Baseline) { c.b.breaks("Begin") }
func (c brittleChat) End(bool, bool)      { c.b.breaks("End") }

// A panic anywhere in a job ends that job alone: the slot, the conversation and
// the process are there for the next one, and the log says where it was.
func TestAPanicEndsItsJobAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in    string
		fine  bool // the job has its answer all the same
		begun bool // the message was sent
	}{
		{in: "Open"},
		{in: "Info"},
		{in: "Watch"},
		{in: "Next"},
		{in: "Send"},
		{in: "Switch"},
		{in: "Fork"},
		{in: "Compose"},
		{in: "Begin"},
		{in: "Ended"},
		{in: "Next after the message", begun: true},
		{in: "Close", begun: true},
		{in: "Stream.Close", begun: true},
		{in: "End", fine: true, begun: true},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var logs bytes.Buffer
				b := &brittle{backend: newBackend()}
				m, err := run.New(run.Config{
					Backend: b, MaxRuns: 1, StateDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&logs, nil)),
					Ended: func(run.Ended) { b.breaks("Ended") },
				})
				if err != nil {
					t.Fatal(err)
				}
				w := &world{t: t, b: b.backend, m: m}
				defer w.stop()
				origin := ask("origin")
				origin.ConversationID = uuid.New()
				w.answered(origin)
				req := ask("hello")
				req.IdempotencyKey, req.ConversationID, req.Chat = "k", uuid.New(), brittleChat{b}
				switch tt.in {
				case "Switch":
					req.ConversationID, req.Profile = origin.ConversationID, "q"
				case "Fork":
					req.Origin, req.From = origin.ConversationID, origin.ConversationID+"-0"
				}
				b.set(tt.in)
				a, err := m.Admit(req)
				if err != nil {
					t.Fatal(err)
				}
				text, _, err := w.read(a)
				a.Delivered()
				a.Close()
				b.set("")
				fine := tt.fine || tt.in == "Ended"
				if fine != (err == nil) || !fine && rescue.Of(err) == nil || fine && text != "re: hello" {
					t.Errorf("the text = %q, the error = %v", text, err)
				}
				synctest.Wait()
				if s := m.Stats(); s.Running != 0 || s.Queued != 0 {
					t.Errorf("the statistics = %+v, want no run", s)
				}
				said := logs.String()
				if strings.Count(said, "msg=panic") != 1 || !strings.Contains(said, "broken_test.go") || !strings.Contains(said, req.ConversationID) || strings.Contains(said, "abcdefgh") {
					t.Errorf("the log: %s", said)
				}
				next := ask("next")
				next.ConversationID = req.ConversationID
				if res := w.answered(next); res.Answer != "re: next" {
					t.Errorf("the next request: %+v", res)
				}
			})
		})
	}
}

func TestAPanicOfAnInterruptEndsTheRunThatIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &brittle{backend: newBackend()}
		m, err := run.New(run.Config{Backend: b, MaxRuns: 1})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, b: b.backend, m: m}
		defer w.stop()
		a := w.submit(ask("wait"))
		defer a.Close()
		synctest.Wait()
		b.set("Interrupt")
		m.Stop("t", a.ConversationID(), "")
		if _, _, err := w.read(a); rescue.Of(err) == nil && !errors.Is(err, agentapi.ErrLost) {
			t.Errorf("the error of the run: %v", err)
		}
		b.set("")
		w.answered(ask("next"))
	})
}

func TestAPanicOfARemovalIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &brittle{backend: newBackend()}
		m, err := run.New(run.Config{Backend: b, OneShotTTL: time.Minute, StateDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, b: b.backend, m: m}
		defer w.stop()
		w.answered(ask("hi"))
		b.set("Remove")
		time.Sleep(90 * time.Second)
		b.set("")
		time.Sleep(time.Hour)
		if _, convs := w.b.counts(); convs != 0 {
			t.Errorf("%d conversations are left", convs)
		}
	})
}
