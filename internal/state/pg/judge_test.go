package pg_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// pool is an agent-server with a model behind it, and a database that gateways share.
type pool struct {
	db      *pg.DB
	llm     *llmtest.Server
	backend agentapi.Backend
}

func newPool(t *testing.T) *pool {
	t.Helper()
	p := &pool{db: database(t), llm: llmtest.New(t)}
	s := fakeserver.New(t, fakeserver.Options{Key: "sk-session"})
	s.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: p.llm.URL, Key: "sk-llm"})
	b, err := agentserver.New(agentserver.Config{URL: s.URL, Key: func() string { return "sk-session" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	p.backend = b
	return p
}

// errDead is what a gateway that has died gets from everything.
var errDead = errors.New("this gateway is dead")

// gateway answers requests as a gateway does, and dies at a point of the protocol.
type gateway struct {
	*pg.Replica

	p     *pool
	point func(name string) bool // whether to die there
	dead  atomic.Bool
	// frozen is closed when the gateway wakes: it reads nothing until then. Nil: it
	// was never frozen.
	frozen chan struct{}
	// unguarded: it does not look after its start; with that the judge must find runs that nobody owns.
	unguarded bool
}

func (p *pool) gateway(t *testing.T, point func(string) bool) *gateway {
	t.Helper()
	return &gateway{Replica: join(t, p.db, 64), p: p, point: point}
}

// at is a point of the protocol.
func (g *gateway) at(name string) error {
	if !g.dead.Load() && g.point != nil && g.point(name) {
		g.dead.Store(true)
		g.Die()
	}
	if g.dead.Load() {
		return errDead
	}
	return nil
}

// answer gets the answer of a request, whoever runs it.
func (g *gateway) answer(ctx context.Context, c ledger.Claim) (string, error) {
	f, err := g.Claim(ctx, c)
	for {
		if err != nil {
			return "", err
		}
		if err := g.at("claimed"); err != nil {
			return "", err
		}
		switch f.Kind {
		case ledger.Closed:
			return string(f.Ending.Result), nil
		case ledger.There:
			f, err = g.Await(ctx, f.Run)
			continue
		case ledger.Here:
			return "", errors.New("two clients at one gateway")
		}
		res, err := g.drive(ctx, f)
		if err != nil {
			return "", err
		}
		if err := g.at("answered"); err != nil {
			return "", err
		}
		if err := g.End(ctx, f.Ticket, ledger.Ending{Result: []byte(res.Answer), Failed: res.Outcome == turn.Failed}); err != nil {
			return "", err
		}
		return res.Answer, g.at("ended")
	}
}

// drive brings a run from where it is to its end.
func (g *gateway) drive(ctx context.Context, f ledger.Found) (turn.Result, error) {
	if f.Phase == ledger.Queued {
		if err := errors.Join(g.Turn(ctx, f.Ticket), g.at("admitted")); err != nil {
			return turn.Result{}, err
		}
	}
	conv, err := g.p.backend.Open(ctx, agentapi.OpenRequest{ID: f.Conversation, Profile: "fast", Workspace: "/tmp"})
	if err != nil {
		return turn.Result{}, err
	}
	defer conv.Close()
	in := turn.Input{
		Message: agentapi.Message{Text: string(f.Request)}, Emit: func(turn.Update) { _ = g.at("told") },
		Ready: func(b turn.Baseline) error {
			if err := g.at("opened"); err != nil {
				return err
			}
			return errors.Join(g.Sending(ctx, f.Ticket, b, nil, true), g.at("noted"))
		},
		Fence: func(ctx context.Context) error {
			if err := g.at("appended"); err != nil {
				return err
			}
			return errors.Join(g.Running(ctx, f.Ticket), g.at("fenced"))
		},
		Started: func(ctx context.Context, interrupt func(context.Context) error) error {
			if err := g.at("started"); err != nil {
				return err
			}
			return g.Started(ctx, f.Ticket, interrupt)
		},
	}
	if g.unguarded {
		in.Started = nil
	}
	mortal := &mortal{Fenced: conv.(agentapi.Fenced), g: g} //nolint:forcetypeassert // of an agent-server
	if f.Phase == ledger.Queued {
		return turn.Run(ctx, mortal, in)
	}
	return turn.Resume(ctx, mortal, f.Baseline, in)
}

// mortal is a conversation of a gateway, which does nothing there once it is dead.
type mortal struct {
	agentapi.Fenced

	g *gateway
}

func (m *mortal) Append(ctx context.Context, msg agentapi.Message) error {
	if m.g.dead.Load() {
		return errDead
	}
	return m.Fenced.Append(ctx, msg)
}

func (m *mortal) Start(ctx context.Context) error {
	if m.g.dead.Load() {
		return errDead
	}
	err := m.Fenced.Start(ctx)
	if m.g.frozen != nil {
		close(m.g.frozen)
	}
	return err
}

func (m *mortal) Interrupt(ctx context.Context) error {
	if m.g.dead.Load() {
		return errDead
	}
	return m.Fenced.Interrupt(ctx)
}

func (m *mortal) Watch(ctx context.Context, after string) (agentapi.Stream, error) {
	s, err := m.Fenced.Watch(ctx, after)
	return &mortalStream{s, m.g}, err
}

type mortalStream struct {
	agentapi.Stream

	g *gateway
}

func (s *mortalStream) Next(ctx context.Context) (event.Event, error) {
	e, err := s.Stream.Next(ctx)
	if s.g.dead.Load() {
		return event.Event{}, errDead
	}
	if _, ran := e.StatusUpdate(); ran && s.g.frozen != nil {
		<-s.g.frozen
	}
	return e, err
}

// points are where a gateway can die.
var points = []string{"claimed", "admitted", "opened", "noted", "appended", "fenced", "started", "told", "answered", "ended"}

// wantOnce checks that the model was asked once for each message, and that no
// conversation has a run left.
func (p *pool) wantOnce(t *testing.T, conversations map[string]string) {
	t.Helper()
	asked := map[string]int{}
	for _, r := range p.llm.Requests() {
		asked[r.UserText()]++
	}
	for text, id := range conversations {
		if asked[text] != 1 {
			t.Errorf("the agent ran %d times for %q", asked[text], text)
		}
		c, err := p.backend.Open(t.Context(), agentapi.OpenRequest{ID: id, Existing: true})
		if err != nil {
			t.Error(err)
			continue
		}
		if s, err := c.State(t.Context()); err != nil || s.Status != event.Finished {
			t.Errorf("the conversation of %q is %s, %v", text, s.Status, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAGatewayMayDieBetweenAnyTwoSteps: the client asks again at another one, with the
// same key, and its agent has run once.
func TestAGatewayMayDieBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.llm.On(llmtest.Says("turn"), llmtest.Text("the answer"))
	conversations := map[string]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, first := range points {
		for _, second := range []string{"", points[2+(3*i)%(len(points)-2)]} {
			text, c := "turn "+first+"/"+second+".", asks("t", first+"/"+second, uuid.New())
			c.Request = []byte(text)
			conversations[text] = c.Conversation
			wg.Go(func() {
				for _, die := range []string{first, second, ""} {
					mu.Lock()
					g := p.gateway(t, func(at string) bool { return at == die })
					mu.Unlock()
					got, err := g.answer(soon(t, time.Minute), c)
					if err == nil && got == "the answer" {
						return
					}
					if !g.dead.Load() || err == nil {
						t.Errorf("%s: %q, %v", text, got, err)
						return
					}
				}
				t.Errorf("%s: no answer", text)
			})
		}
	}
	wg.Wait()
	p.wantOnce(t, conversations)
}

// TestAFrozenGatewayStartsNothingForGood hits the moment that no fence covers: a
// gateway is frozen between its fence and its start for longer than its lease, and the
// run ends in a failure meanwhile, after which a server would start it again.
func TestAFrozenGatewayStartsNothingForGood(t *testing.T) {
	t.Parallel()
	for _, unguarded := range []bool{false, true} {
		t.Run(fmt.Sprintf("unguarded=%v", unguarded), func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			hold := make(chan string)
			p.llm.On(llmtest.Says("go"), llmtest.Reply{Status: 401}, llmtest.Reply{Feed: hold})
			frozen, thaw := make(chan struct{}), make(chan struct{})
			a := p.gateway(t, func(at string) bool {
				if at == "fenced" {
					close(frozen)
					<-thaw
				}
				return false
			})
			a.unguarded, a.frozen = unguarded, make(chan struct{})
			b := p.gateway(t, nil)
			c := asks("t", "key", uuid.New())
			ended := make(chan error, 1)
			go func() {
				_, err := a.answer(soon(t, time.Minute), c)
				ended <- err
			}()
			<-frozen
			a.Die() // nobody hears of it any more
			if _, err := b.answer(soon(t, time.Minute), c); err != nil {
				t.Fatalf("the other gateway: %v", err)
			}
			close(thaw)
			if unguarded {
				waitFor(t, "a run that nobody owns", func() bool { return len(p.llm.Requests()) == 2 })
				close(hold)
				if err := <-ended; !errors.Is(err, ledger.ErrFenced) {
					t.Errorf("the frozen gateway ends with %v", err)
				}
				return
			}
			if err := <-ended; !errors.Is(err, ledger.ErrFenced) {
				t.Errorf("the frozen gateway ends with %v", err)
			}
			waitFor(t, "the end of the run", func() bool { return p.status(t, c.Conversation) == event.Paused })
			close(hold)
		})
	}
}

func (p *pool) status(t *testing.T, id string) event.Status {
	t.Helper()
	c, err := p.backend.Open(t.Context(), agentapi.OpenRequest{ID: id, Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.State(t.Context())
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	return s.Status
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 2000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("there was never %s", what)
}
