package run_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/daemon/run/ledger/ledgertest"
)

// conversation is one that clients name.
const conversation = "00000000-0000-4000-8000-000000000001"

var errAway = errors.New("away")

// gateways are managers that share one ledger and one agent.
type gateways struct {
	t     *testing.T
	state *ledgertest.State
	b     *backend
}

// inGateways calls f in a bubble of synctest.
func inGateways(t *testing.T, f func(g *gateways)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(&gateways{t: t, b: newBackend(), state: ledgertest.New(time.Now, ledgertest.Options{MaxRuns: 8, MaxQueue: 64, MaxLane: 8})})
	})
}

// gateway is one of them.
type gateway struct {
	*run.Manager
	*mortal

	t *testing.T
	l *ledgertest.Replica
}

// join adds a gateway.
func (g *gateways) join() *gateway {
	g.t.Helper()
	l := g.state.Join()
	life := &mortal{l: l}
	life.life, life.end = context.WithCancel(context.Background())
	g.t.Cleanup(life.end)
	m, err := run.New(run.Config{Backend: mortalBackend{g.b, life}, Ledger: stepped{l, life}, Shots: mortalShots{l.Shots(), life}, Grace: 50 * time.Millisecond, OneShotTTL: time.Hour})
	if err != nil {
		g.t.Fatalf("New: %v", err)
	}
	g.t.Cleanup(func() {
		if err := m.Close(); err != nil {
			g.t.Errorf("Close: %v", err)
		}
	})
	return &gateway{Manager: m, mortal: life, t: g.t, l: l}
}

// single is one gateway.
func single(t *testing.T, f func(g *gateways, m *gateway)) {
	t.Helper()
	inGateways(t, func(g *gateways) { f(g, g.join()) })
}

func shared(text, key string) run.Request {
	return run.Request{
		Asker: run.Asker{Access: run.Access{Token: "t", Person: true}, IdempotencyKey: key, Fingerprint: sha256.Sum256([]byte(text))},
		Words: run.Words{Message: agentapi.Message{Text: text}},
	}
}

// within is a request in a conversation.
func within(conversation string, req run.Request) run.Request {
	req.ConversationID = conversation
	return req
}

// marked is a request that its client marks as a repeat.
func marked(req run.Request) run.Request {
	req.Retry = true
	return req
}

// admit admits a request.
func (m *gateway) admit(req run.Request) *run.Attachment {
	m.t.Helper()
	a, err := m.Admit(req)
	if err != nil {
		m.t.Fatalf("Admit: %v", err)
	}
	return a
}

// read reads an answer to its end.
func (m *gateway) read(a *run.Attachment) (string, error) {
	m.t.Helper()
	defer a.Close()
	text := ""
	for {
		u, err := a.Next(m.life)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return text, err
		}
		if u.Kind == turn.Text {
			text += u.Text
		}
	}
	res, err := a.Result()
	if err == nil {
		a.Delivered()
		if !strings.HasSuffix(text, res.Answer) {
			m.t.Errorf("the text is %q, and the answer %q", text, res.Answer)
		}
	}
	return text, err
}

// answer is the end of a request.
func (m *gateway) answer(req run.Request) (string, error) {
	m.t.Helper()
	a, err := m.Admit(req)
	if err != nil {
		return "", err
	}
	return m.read(a)
}

// wantAnswer checks the answer of a request.
func (m *gateway) wantAnswer(req run.Request, want string) {
	m.t.Helper()
	if text, err := m.answer(req); err != nil || text != want {
		m.t.Errorf("the answer is %q, %v; want %q", text, err, want)
	}
}

// wantSent checks how often the agent ran for a message.
func (g *gateways) wantSent(text string, want int) {
	g.t.Helper()
	if n := g.b.sent()[text]; n != want {
		g.t.Errorf("the agent ran %d times for %q, want %d", n, text, want)
	}
}

// A ledger that was away says neither that the run was claimed nor what other gateways do with
// it. So nothing was refused.
func TestARepeatAfterTheLedgerWasAwayMeansItsRun(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		a.l.Fail("claim", errAway)
		if _, err := a.answer(shared("wait", "")); !errors.Is(err, run.ErrLedger) {
			t.Errorf("without a ledger: %v", err)
		}
		first := b.admit(shared("wait", ""))
		defer first.Close()
		a.l.Fail("claim", nil)
		again := a.admit(marked(shared("wait", "")))
		defer again.Close()
		if !again.Replayed() || again.ConversationID() != first.ConversationID() || again.AnswerID() != first.AnswerID() {
			t.Errorf("the repeat is a run of its own: %s, want %s", again.ConversationID(), first.ConversationID())
		}
	})
}

func TestALedgerThatIsAwayStartsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call, key  string
		err, want  error
		gave, kept string // the calls that give the run back, and those that do not come
	}{
		{"claim", "key", errAway, run.ErrLedger, "claim", "drop"},
		{"sending", "key", errAway, run.ErrLedger, "drop", "release"},
		{"sending", "key", ledger.ErrStopped, run.ErrStopped, "drop", "release"},
		{"secure", "", errAway, run.ErrLedger, "release", "drop"},
		{"running", "key", errAway, run.ErrLedger, "release", "drop"},
		{"running", "key", ledger.ErrFenced, run.ErrTakenOver, "release", "drop"},
	} {
		t.Run(c.call+" "+c.err.Error(), func(t *testing.T) {
			t.Parallel()
			single(t, func(g *gateways, m *gateway) {
				m.l.Fail(c.call, c.err)
				if _, err := m.answer(shared("hello", c.key)); !errors.Is(err, c.want) {
					t.Errorf("the request ends with %v, want %v", err, c.want)
				}
				g.wantSent("hello", 0)
				if m.l.Calls(c.gave) != 1 || m.l.Calls(c.kept) != 0 || m.l.Calls("end") != 0 {
					t.Errorf("%d calls of %s, %d of %s, %d of end", m.l.Calls(c.gave), c.gave, m.l.Calls(c.kept), c.kept, m.l.Calls("end"))
				}
			})
		})
	}
}

// awayOwners are in a database that does not answer.
type awayOwners struct{}

func (awayOwners) Owner(string) (string, error) { return "", errAway }
func (awayOwners) Claim(string, string) error   { return errAway }
func (awayOwners) Forget(string) error          { return errAway }

// The owners are where the runs are. So what is away is not the state directory, and a client may
// ask again.
func TestOwnersThatAreAwayAreTheLedgers(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		m, err := run.New(run.Config{Backend: g.b, Ledger: g.state.Join(), Owners: awayOwners{}})
		if err != nil {
			t.Fatalf("New: %v", err)
		}
		defer m.Close()
		req := within(conversation, shared("hello", ""))
		req.Person = false
		if _, err := m.Admit(req); !errors.Is(err, run.ErrLedger) || errors.Is(err, run.ErrState) {
			t.Errorf("Admit: %v, want %v", err, run.ErrLedger)
		}
		if err := m.Reserve(req.Access, conversation); !errors.Is(err, run.ErrLedger) || errors.Is(err, run.ErrState) {
			t.Errorf("Reserve: %v, want %v", err, run.ErrLedger)
		}
	})
}

func TestALateRunIsLeftToItsNewGateway(t *testing.T) {
	t.Parallel()
	single(t, func(g *gateways, m *gateway) {
		m.l.Fail("started", ledger.ErrFenced)
		a := m.admit(within(conversation, shared("wait", "")))
		if _, err := m.read(a); !errors.Is(err, run.ErrTakenOver) {
			t.Errorf("the request ends with %v", err)
		}
		g.wantSent("wait", 1)
		if n := g.b.conv(a.ConversationID()).interrupted(); n != 0 || m.l.Calls("end") != 0 {
			t.Errorf("interrupted %d times, %d ends", n, m.l.Calls("end"))
		}
	})
}

// The fence is asked before each attempt. What it waits for the first time is there the next time,
// also where the commit of a request without a key is awaited.
func TestARunThatFindsNoRoomBeginsLater(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "key"} {
		single(t, func(g *gateways, m *gateway) {
			m.wantAnswer(shared("full", key), "re: full")
			g.wantSent("full", 1)
			if n := m.l.Calls("running"); n != 3 {
				t.Errorf("key %q: the fence was asked %d times, want 3", key, n)
			}
		})
	}
}

func TestAnEndIsNotedUntilTheLedgerIsBack(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		m := g.join()
		m.l.Fail("end", errAway)
		for range 2 { // the second from memory: the ledger says that the run is this gateway's
			m.wantAnswer(shared("hello", "key"), "re: hello")
		}
		m.l.Fail("end", nil)
		time.Sleep(2 * time.Second)
		if ends := g.state.Endings(); len(ends) != 1 {
			t.Errorf("ends: %v", ends)
		}
		g.wantSent("hello", 1)
		other := g.join() // it has nothing but the ledger
		other.wantAnswer(shared("hello", "key"), "re: hello")
		if _, err := other.answer(shared("else", "key")); !errors.Is(err, run.ErrKeyConflict) {
			t.Errorf("another request with the key: %v", err)
		}
		g.wantSent("hello", 1)
	})
}

func TestALongAnswerComesFromTheConversation(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		a.wantAnswer(shared("long", "key"), strings.Repeat("x", 1<<20))
		b.wantAnswer(shared("long", "key"), strings.Repeat("x", 1<<20))
		g.wantSent("long", 1)
		if n := len(g.state.Endings()[0].Result); n > 64<<10 {
			t.Errorf("the ledger keeps %d bytes of the answer", n)
		}
	})
}

// No client waits for its answer longer than it takes to be sure.
func TestALedgerThatHangsHoldsAnswersBriefly(t *testing.T) {
	t.Parallel()
	single(t, func(g *gateways, m *gateway) {
		a := m.admit(shared("wait", "key"))
		synctest.Wait()
		m.l.Freeze()
		began := time.Now()
		g.b.conv(a.ConversationID()).letGo()
		if text, err := m.read(a); err != nil || !strings.HasSuffix(text, "partly done") {
			t.Errorf("the answer is %q, %v", text, err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
		m.l.Thaw()
		time.Sleep(15 * time.Second)
		if ends := g.state.Endings(); len(ends) != 1 {
			t.Errorf("ends: %v", ends)
		}
	})
}

// The ledger knows of the stop when the run was started.
func TestARunThatWasStoppedBeforeItBeganStops(t *testing.T) {
	t.Parallel()
	single(t, func(_ *gateways, m *gateway) {
		m.l.Fail("started", ledger.ErrStopped)
		a := m.admit(shared("wait", ""))
		if _, err := m.read(a); err != nil {
			t.Errorf("the request ends with %v", err)
		}
		if res, _ := a.Result(); res.Outcome != turn.Interrupted {
			t.Errorf("the run ended as %v", res.Outcome)
		}
	})
}

func TestTheRuleOfJoiningIsThatOfTheLedgersRuns(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		for _, m := range []*gateway{a, b} { // delivered: asked again is meant again
			m.wantAnswer(shared("hello", ""), "re: hello")
			synctest.Wait()
		}
		g.wantSent("hello", 2)
		for _, m := range []*gateway{a, b} { // the ledger has heard of the client that left, or has not
			text := "nap 30"
			if m == b {
				text = "nap 31"
			}
			gone := a.admit(shared(text, ""))
			synctest.Wait()
			gone.Close()
			if m == b {
				synctest.Wait()
			}
			if got, err := m.answer(shared(text, "")); err != nil || !strings.Contains(got, text) {
				t.Errorf("the repeat has %q, %v", got, err)
			}
			g.wantSent(text, 1)
			synctest.Wait()
		}
		for i, p := range g.state.History() {
			if p.Owed != 0 || p.Deliveries != 1 {
				t.Errorf("of run %d the ledger knows %+v", i, p)
			}
		}
	})
}

func TestARunWithoutClientsIsInterruptedUnlessAnotherGatewayWatches(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		one := a.admit(shared("wait", "key"))
		synctest.Wait()
		two := b.admit(shared("wait", "key"))
		synctest.Wait()
		one.Close()
		c := g.b.conv(one.ConversationID())
		time.Sleep(time.Second)
		if n := c.interrupted(); n != 0 {
			t.Errorf("interrupted %d times beside a client of another gateway", n)
		}
		a.l.Fail("watched", errAway) // that cannot be known: it goes on
		two.Close()
		time.Sleep(time.Second)
		if n := c.interrupted(); n != 0 {
			t.Errorf("interrupted %d times while the ledger is away", n)
		}
		a.l.Fail("watched", nil)
		time.Sleep(time.Second)
		if ends := g.state.Endings(); c.interrupted() != 1 || len(ends) != 1 || ends[0].Stop != "gone" {
			t.Errorf("interrupted %d times, ends %+v", c.interrupted(), ends)
		}
	})
}

func TestARunThatWaitsForTheLedgerSaysSo(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		g.state = ledgertest.New(time.Now, ledgertest.Options{MaxRuns: 1, MaxQueue: 4, MaxLane: 8})
		a, b := g.join(), g.join()
		first := a.admit(shared("wait", ""))
		defer first.Close()
		synctest.Wait()
		second := b.admit(shared("hello", ""))
		defer second.Close()
		if u, err := second.Next(g.t.Context()); err != nil || u.Kind != turn.Queue || u.Text != "Waiting for a running agent to finish" {
			t.Errorf("the client has %+v, %v", u, err)
		}
		if s := b.Stats(); s.Running != 0 || s.Queued != 1 {
			t.Errorf("stats %+v", s)
		}
		g.b.conv(first.ConversationID()).letGo()
		if u, err := second.Next(g.t.Context()); err != nil || u.Kind != turn.Queue || u.Text != "" {
			t.Errorf("then %+v, %v", u, err)
		}
		b.wantAnswer(marked(shared("hello", "")), "re: hello")
	})
}

// Where gateways die within seconds of their start, no other one frees the slots of the dead.
func TestANewManagerLooksForOrphansSoon(t *testing.T) {
	t.Parallel()
	single(t, func(_ *gateways, m *gateway) {
		time.Sleep(500 * time.Millisecond)
		if m.l.Calls("orphans") == 0 {
			t.Error("it has not looked")
		}
	})
}
