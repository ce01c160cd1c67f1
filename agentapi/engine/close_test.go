package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// deaf is a tool that obeys neither an interrupt nor Close until free is closed.
type deaf struct {
	enginetest.Func
	free <-chan struct{}
}

func (d *deaf) Close() error {
	<-d.free
	return nil
}

func deafTools(began chan<- string, free <-chan struct{}) func(*engine.Config) {
	return func(c *engine.Config) {
		c.NewTools = func(_ context.Context, e engine.ToolEnv) ([]tool.Tool, error) {
			t := &deaf{*enginetest.Terminal(e.Workspace), free}
			t.Do = func(context.Context, tool.Call) (tool.Result, error) {
				began <- e.Conversation
				<-free
				return tool.Result{}, context.Canceled
			}
			return []tool.Tool{t, enginetest.Finish()}, nil
		}
	}
}

func TestToolThatDoesNotObeyBlocksNoClose(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world) error{
		"Close":  func(w *world) error { return w.backend.Close() },
		"Remove": func(w *world) error { return w.backend.Remove(w.ctx(), w.id) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began, free := make(chan string, 1), make(chan struct{})
			w := newWorld(t, deafTools(began, free), func(c *engine.Config) { c.Grace = time.Millisecond })
			t.Cleanup(func() { close(free) })
			w.llm.Reply(terminal("echo hi"))
			if err := w.open().Send(w.ctx(), agentapi.Message{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			<-began
			over := make(chan error, 1)
			go func() { over <- end(w) }()
			select {
			case err := <-over:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Fatal("it waits for the tool")
			}
			if name == "Remove" {
				if store.Exists(w.cfg.Dir, w.id) {
					t.Error("the conversation is still there")
				}
				return
			}
			w.start()
			w.expect("SP U A(terminal) E I")
		})
	}
}

// oneTurn makes a conversation, runs it once and closes the handle.
func oneTurn(t *testing.T, b *engine.Backend, id string) {
	t.Helper()
	c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: id, New: true, Profile: "main", Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestConversationThatDoesNotEndKeepsNoOtherOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		cfg := enginetest.Config(t, "", enginetest.NewProfiles("main", "test"))
		cfg.NewModel = func(engine.Profile, string) (llm.Model, error) { return instant{"agent"}, nil }
		deafTools(nil, free)(&cfg)
		inner := cfg.NewTools
		hung := uuid.New()
		cfg.NewTools = func(ctx context.Context, e engine.ToolEnv) ([]tool.Tool, error) {
			if e.Conversation == hung {
				return inner(ctx, e)
			}
			return enginetest.Tools(e.Workspace), nil
		}
		cfg.Grace = 24 * time.Hour // the one that hangs takes that long
		b := engine.New(cfg)
		ids := []string{hung, uuid.New(), uuid.New(), uuid.New()}
		for _, id := range ids {
			oneTurn(t, b, id)
			time.Sleep(10 * time.Minute) // so the one that hangs is the first to be closed
		}
		time.Sleep(2 * time.Hour)
		for _, id := range ids[1:] {
			var lease struct {
				Expires float64 `json:"expires_at"`
			}
			if err := json.Unmarshal(mustRead(t, filepath.Join(store.Path(cfg.Dir, id), "owner_lease.json")), &lease); err != nil || lease.Expires != 0 {
				t.Errorf("conversation %s is still open, %v", id, err)
			}
		}
		close(free)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}

// gathering is a tool of which no Close returns before all are in it.
type gathering struct {
	enginetest.Func
	all *sync.WaitGroup
}

func (g *gathering) Close() error {
	g.all.Done()
	g.all.Wait()
	return nil
}

// A supervisor that waits ten seconds must not kill it: whatever the shells take, all
// take it together.
func TestAllConversationsAreClosedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const shells = 40
		var all sync.WaitGroup
		all.Add(shells)
		cfg := enginetest.Config(t, "", enginetest.NewProfiles("main", "test"))
		cfg.NewModel = func(engine.Profile, string) (llm.Model, error) { return instant{"agent"}, nil }
		cfg.NewTools = func(_ context.Context, e engine.ToolEnv) ([]tool.Tool, error) {
			return []tool.Tool{&gathering{*enginetest.Terminal(e.Workspace), &all}, enginetest.Finish()}, nil
		}
		cfg.Grace = time.Minute // one that waits for another one takes that long
		b := engine.New(cfg)
		for range shells {
			oneTurn(t, b, uuid.New())
		}
		began := time.Now()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took >= cfg.Grace {
			t.Errorf("closing %d idle conversations took %v of waiting for each other", shells, took)
		}
	})
}

func TestLostConversationIsOpenedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, cfg, c := bubble(t, instant{"agent"})
		id := c.Info().ID
		lease := filepath.Join(store.Path(cfg.Dir, id), "owner_lease.json")
		if err := os.WriteFile(lease, []byte(`{"owner_instance_id":"other","generation":7,"expires_at":99999999999,"owner_host":"elsewhere","owner_pid":5}`), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * store.LeaseRenewal)
		if _, err := b.Open(t.Context(), agentapi.OpenRequest{ID: id}); err == nil || !strings.Contains(err.Error(), "5 on elsewhere") {
			t.Errorf("Open while the other has it: %v", err)
		}
		if err := os.WriteFile(lease, []byte(`{"owner_instance_id":"other","generation":7,"expires_at":0}`), 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := b.Open(t.Context(), agentapi.OpenRequest{ID: id, Existing: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Run(t.Context(), again, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}}); err != nil {
			t.Error(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}

// brokenDisk panics when it writes a file of a kind, as often as it is told to.
type brokenDisk struct {
	enginetest.Disk
	kind string
	left *atomic.Int32
}

func (d brokenDisk) Write(path string, data []byte, sync bool) error {
	if strings.HasPrefix(filepath.Base(path), d.kind) && d.left.Add(-1) >= 0 {
		panic("oh no")
	}
	return d.Disk.Write(path, data, sync)
}

func TestPanicOfAConversationEndsItsRunOnly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind  string
		times int32
		want  turn.Outcome
	}{
		{"event-", 1, turn.Failed}, {"event-", 1000, turn.Failed}, {"base_state", 1, turn.Finished}, {"base_state", 1000, turn.Finished},
	} {
		t.Run(fmt.Sprint(tc.kind, tc.times), func(t *testing.T) {
			t.Parallel()
			var left atomic.Int32
			w := newWorld(t, func(c *engine.Config) { c.Files = brokenDisk{kind: tc.kind, left: &left} })
			w.llm.On(llmtest.Says("again"), llmtest.Text("still here"))
			feed := make(chan string)
			w.llm.On(llmtest.Says("go"), llmtest.Reply{Feed: feed})
			over := w.background("go")
			feed <- "hello"
			left.Store(tc.times) // the goroutine waits for the model
			close(feed)
			if res := <-over; res.Outcome != tc.want {
				t.Errorf("result %+v", res)
			} else if res.Outcome == turn.Failed && res.Cause.Kind != turn.CauseAgent {
				t.Errorf("the cause is %+v", res.Cause)
			}
			left.Store(0)
			w.conv = nil
			if res := w.say("again"); res.Answer != "still here" {
				t.Errorf("the next turn: %+v", res)
			}
		})
	}
}

func TestPauseApprovesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways })
	hold := make(chan string)
	w.llm.On(llmtest.Says("go"), llmtest.Reply{Calls: []llmtest.Call{{Name: "terminal", Args: `{"command":"touch ran"}`}}, Feed: hold}, llmtest.Text("not done"))
	over := w.background("go")
	w.llm.Await(t, 1)
	if err := w.backend.Pause(w.ctx(), w.id); err != nil {
		t.Fatal(err)
	}
	close(hold)
	if res := <-over; res.Outcome != turn.Waiting {
		t.Errorf("outcome %v", res.Outcome)
	}
	wantError(t, w.open().Send(w.ctx(), agentapi.Message{Text: "no, do not do that"}), agentapi.ErrRefused, "accept or reject")
	w.close()
	// As OpenHands leaves it, which forgets that the action waits.
	w.change("base_state.json", func(data []byte) []byte {
		return []byte(strings.Replace(string(data), `"execution_status":"waiting_for_confirmation"`, `"execution_status":"paused"`, 1))
	})
	w.start()
	w.status(event.Waiting)
	wantError(t, w.open().Send(w.ctx(), agentapi.Message{Text: "no, do not do that"}), agentapi.ErrRefused, "accept or reject")
	if _, err := os.Stat(filepath.Join(w.workspace, "ran")); err == nil {
		t.Error("the action ran")
	}
	w.expect("SP U A(terminal)")
}
