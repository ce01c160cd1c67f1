package run_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// fencedBackend is the backend of the other tests with sends in two steps.
type fencedBackend struct{ *backend }

func (b fencedBackend) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	c, err := b.backend.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	return &fencedHandle{handle: c.(handle)}, nil
}

type fencedHandle struct {
	handle

	appended agentapi.Message
}

func (h *fencedHandle) Append(_ context.Context, m agentapi.Message) error {
	h.appended = m
	return nil
}

func (h *fencedHandle) Start(ctx context.Context) error { return h.Send(ctx, h.appended) }

// What calls of a ledger fail with: at once, or when their time is over.
var (
	errAway  = errors.New("away")
	errHangs = errors.New("hangs")
)

// memory is a ledger of one gateway, of which each call can fail.
type memory struct {
	mu    sync.Mutex
	runs  []*entry
	fails map[string]error
	calls []string
	turn  chan struct{} // of every run; nil: at once
}

type entry struct {
	ledger.Found

	claim ledger.Claim
	past  ledger.Past
}

// call notes a call, and fails if it is to.
func (l *memory) call(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, name)
	return l.fails[name]
}

func (l *memory) fail(name string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fails[name] = err
}

func (l *memory) called(name string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if c == name {
			n++
		}
	}
	return n
}

func (l *memory) Claim(_ context.Context, c ledger.Claim) (ledger.Found, error) {
	if err := l.call("claim"); err != nil {
		return ledger.Found{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var same []*entry
	var past []ledger.Past
	for _, e := range l.runs {
		switch {
		case e.claim.Token != c.Token || (len(c.Key) > 0) != (len(e.claim.Key) > 0):
		case len(c.Key) > 0 && string(e.claim.Key) == string(c.Key):
			if string(e.claim.Print) != string(c.Print) {
				return ledger.Found{}, ledger.ErrConflict
			}
			return e.Found, nil
		case len(c.Key) == 0 && string(e.claim.Print) == string(c.Print):
			same = append(same, e)
			p := e.past
			p.Run, p.Now = e.Run, time.Now()
			past = append(past, p)
		}
	}
	if c.Joins != nil && len(c.Key) == 0 {
		if i := c.Joins(past); i >= 0 {
			return same[i].Found, nil
		}
	}
	e := &entry{claim: c, Found: ledger.Found{Ticket: ledger.Ticket{Run: int64(len(l.runs) + 1), Epoch: 1}, Kind: ledger.Here, Conversation: c.Conversation, Token: c.Token, Request: c.Request}}
	l.runs = append(l.runs, e)
	f := e.Found
	f.Kind = ledger.Mine
	return f, nil
}

func (l *memory) at(t int64, edit func(*entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	edit(l.runs[t-1])
}

func (l *memory) Find(context.Context, int64) (ledger.Found, error) { return ledger.Found{}, errAway }

func (l *memory) Await(context.Context, int64) (ledger.Found, error) { return ledger.Found{}, errAway }

func (l *memory) Turn(ctx context.Context, _ ledger.Ticket) error {
	if l.turn != nil {
		select {
		case <-l.turn:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return l.call("turn")
}

func (l *memory) Sending(_ context.Context, t ledger.Ticket, b turn.Baseline, request []byte, _ bool) error {
	l.at(t.Run, func(e *entry) { e.Phase, e.Baseline, e.Request = ledger.Sending, b, request })
	return l.call("sending")
}

func (l *memory) Secure(context.Context) error { return l.call("secure") }

func (l *memory) Running(context.Context, ledger.Ticket) error { return l.call("running") }

func (l *memory) Started(context.Context, ledger.Ticket, func(context.Context) error) error {
	return l.call("started")
}

func (l *memory) End(ctx context.Context, t ledger.Ticket, end ledger.Ending) error {
	err := l.call("end")
	if errors.Is(err, errHangs) {
		<-ctx.Done()
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	l.at(t.Run, func(e *entry) {
		e.Kind, e.Phase, e.Ending = ledger.Closed, ledger.Ended, end
		e.past.Ended, e.past.Failed, e.past.EndedAt, e.past.Stopped = true, end.Failed, time.Now(), end.Stop != ""
	})
	return nil
}

func (l *memory) Spends(context.Context, ledger.Ticket, turn.Usage) error { return l.call("spends") }

func (l *memory) Drop(_ context.Context, t ledger.Ticket) error {
	if err := l.call("drop"); err != nil {
		return err
	}
	l.at(t.Run, func(e *entry) { e.claim = ledger.Claim{Token: "dropped"} })
	return nil
}

func (l *memory) Release(context.Context, ledger.Ticket) error { return l.call("release") }

func (l *memory) Left(_ context.Context, id int64, back bool) error {
	l.at(id, func(e *entry) {
		if e.past.Owed++; back {
			e.past.Owed -= 2
		}
	})
	return l.call("left")
}

func (l *memory) Delivered(_ context.Context, id int64) error {
	l.at(id, func(e *entry) {
		e.past.Deliveries, e.past.FirstAt, e.past.DeliveredAt = e.past.Deliveries+1, time.Now(), time.Now()
	})
	return l.call("delivered")
}

func (l *memory) Watch(context.Context, int64, int) error { return l.call("watch") }

func (l *memory) Watched(context.Context, int64) (bool, error) { return false, l.call("watched") }

func (l *memory) Stop(context.Context, string, string, []byte, func(context.Context) error) (int, error) {
	return 0, l.call("stop")
}

func (l *memory) StopRun(context.Context, int64, func(context.Context) error) (bool, error) {
	return false, l.call("stop")
}

func (l *memory) Runs(context.Context, string) ([]ledger.Found, error) { return nil, errAway }

func (l *memory) Orphans(context.Context) ([]ledger.Found, error) { return nil, l.call("orphans") }

func (l *memory) Owned(context.Context) ([]ledger.Ticket, error) { return nil, nil }

func sharing(t *testing.T) (*run.Manager, *memory, *backend) {
	t.Helper()
	b, l := newBackend(), &memory{fails: map[string]error{}}
	m, err := run.New(run.Config{Backend: fencedBackend{b}, Ledger: l, Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m, l, b
}

// until waits for something that is about to be.
func until(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never was")
		}
	}
}

func shared(text, key string) run.Request {
	return run.Request{Access: run.Access{Token: "t", Person: true}, IdempotencyKey: key, Fingerprint: sha256.Sum256([]byte(text)), Message: agentapi.Message{Text: text}}
}

// sharedAnswer is the end of a request.
func sharedAnswer(t *testing.T, m *run.Manager, req run.Request) (string, error) {
	t.Helper()
	a, err := m.Admit(req)
	if err != nil {
		return "", err
	}
	defer a.Close()
	text := ""
	for {
		u, err := a.Next(t.Context())
		if err != nil {
			break
		}
		text += u.Text
	}
	res, err := a.Result()
	if err == nil {
		a.Delivered()
	}
	if err == nil && res.Answer != text {
		t.Errorf("the text is %q, and the answer %q", text, res.Answer)
	}
	return text, err
}

// TestARepeatAfterTheLedgerWasAwayMeansItsRun: nobody knew whether the run was
// claimed, or what other gateways do with it. So nothing was refused.
func TestARepeatAfterTheLedgerWasAwayMeansItsRun(t *testing.T) {
	t.Parallel()
	for _, fails := range []string{"claim", "running"} {
		m, l, _ := sharing(t)
		l.fail("running", errAway)
		if _, err := sharedAnswer(t, m, shared("hello", "")); !errors.Is(err, run.ErrLedger) {
			t.Errorf("the first one ends with %v", err)
		}
		again := shared("hello", "")
		again.Retry = true
		l.at(1, func(e *entry) { e.Kind = ledger.There })
		l.fail(fails, errAway)
		if fails == "claim" {
			if _, err := m.Admit(again); !errors.Is(err, run.ErrLedger) {
				t.Errorf("the second one ends with %v", err)
			}
			l.fail(fails, nil)
		}
		a, err := m.Admit(again)
		if err != nil {
			t.Fatal(err)
		}
		if !a.Replayed() {
			t.Errorf("without %s: a run of its own", fails)
		}
		a.Close()
	}
}

func TestALedgerThatIsAwayStartsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call, key  string
		err, want  error
		gave, kept string // what the ledger is told then, and what not
	}{
		{"claim", "key", errAway, run.ErrLedger, "claim", "drop"},
		{"turn", "key", errAway, run.ErrLedger, "drop", "release"},
		{"turn", "key", ledger.ErrStopped, run.ErrStopped, "drop", "release"},
		{"sending", "key", errAway, run.ErrLedger, "drop", "release"},
		{"secure", "", errAway, run.ErrLedger, "release", "drop"},
		{"running", "key", errAway, run.ErrLedger, "release", "drop"},
		{"running", "key", ledger.ErrFenced, run.ErrTakenOver, "release", "drop"},
	} {
		t.Run(c.call+" "+c.err.Error(), func(t *testing.T) {
			t.Parallel()
			m, l, b := sharing(t)
			l.fail(c.call, c.err)
			if _, err := sharedAnswer(t, m, shared("hello", c.key)); !errors.Is(err, c.want) {
				t.Errorf("the request ends with %v", err)
			}
			if runs, _ := b.counts(); runs != 0 {
				t.Errorf("%d runs were started", runs)
			}
			if l.called(c.gave) != 1 || l.called(c.kept) != 0 || l.called("end") != 0 {
				t.Errorf("the calls were %v", l.calls)
			}
		})
	}
}

func TestALateRunIsLeftToItsNewGateway(t *testing.T) {
	t.Parallel()
	m, l, b := sharing(t)
	l.fail("started", ledger.ErrFenced)
	if _, err := sharedAnswer(t, m, shared("wait", "")); !errors.Is(err, run.ErrTakenOver) {
		t.Errorf("the request ends with %v", err)
	}
	if runs, _ := b.counts(); runs != 1 || l.called("end") != 0 {
		t.Errorf("%d runs, calls %v", runs, l.calls)
	}
}

func TestAnEndIsToldUntilTheLedgerIsBack(t *testing.T) {
	t.Parallel()
	m, l, b := sharing(t)
	l.fail("end", errAway)
	for range 2 { // the second from memory: the ledger says that the run is this gateway's
		if text, err := sharedAnswer(t, m, shared("hello", "key")); err != nil || text != "re: hello" {
			t.Fatalf("the answer is %q, %v", text, err)
		}
	}
	l.fail("end", nil)
	until(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.runs[0].Kind == ledger.Closed
	})
	if runs, _ := b.counts(); runs != 1 {
		t.Errorf("%d runs", runs)
	}
	// Another gateway has nothing but the ledger.
	other, err := run.New(run.Config{Backend: fencedBackend{b}, Ledger: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	if text, err := sharedAnswer(t, other, shared("hello", "key")); err != nil || text != "re: hello" {
		t.Errorf("the other one answers %q, %v", text, err)
	}
	if _, err := sharedAnswer(t, other, shared("else", "key")); !errors.Is(err, run.ErrKeyConflict) {
		t.Errorf("another request with the key: %v", err)
	}
}

// TestALedgerThatHangsKeepsNobodyFromTheAnswer for longer than it takes to be sure.
func TestALedgerThatHangsKeepsNobodyFromTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, l, _ := sharing(t)
		l.fail("end", errHangs)
		began := time.Now()
		if text, err := sharedAnswer(t, m, shared("hello", "key")); err != nil || text != "re: hello" {
			t.Fatalf("the answer is %q, %v", text, err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
		l.fail("end", nil)
		until(t, func() bool { return l.called("end") > 1 })
	})
}

// TestARunThatWasStoppedBeforeItBeganStops: the ledger knows when the run was started.
func TestARunThatWasStoppedBeforeItBeganStops(t *testing.T) {
	t.Parallel()
	m, l, _ := sharing(t)
	l.fail("started", ledger.ErrStopped)
	a, err := m.Admit(shared("wait", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for err == nil {
		_, err = a.Next(t.Context())
	}
	if res, err := a.Result(); err != nil || res.Outcome != turn.Interrupted {
		t.Errorf("the run ended as %v, %v", res.Outcome, err)
	}
}

func TestTheRuleOfJoiningIsThatOfTheLedgersRuns(t *testing.T) {
	t.Parallel()
	m, l, b := sharing(t)
	for range 2 { // delivered: asked again is meant again
		if _, err := sharedAnswer(t, m, shared("hello", "")); err != nil {
			t.Fatal(err)
		}
	}
	if runs, _ := b.counts(); runs != 2 {
		t.Errorf("%d runs", runs)
	}
	a, err := m.Admit(shared("nap 300", ""))
	if err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return b.sent()["nap 300"] > 0 })
	a.Close() // and the next one comes before the ledger has heard of it, or after
	if text, err := sharedAnswer(t, m, shared("nap 300", "")); err != nil || !strings.Contains(text, "nap") {
		t.Errorf("the retry got %q, %v", text, err)
	}
	if n := b.sent()["nap 300"]; n != 1 {
		t.Errorf("the agent ran %d times", n)
	}
	until(t, func() bool { return l.called("left") == 2 && l.called("delivered") == 3 })
	if p := l.runs[2].past; p.Owed != 0 || p.Deliveries != 1 {
		t.Errorf("the ledger knows %+v", p)
	}
}

func TestARunNobodyWantsIsInterruptedUnlessAnotherGatewayWatches(t *testing.T) {
	t.Parallel()
	m, l, b := sharing(t)
	a, err := m.Admit(shared("wait", "key"))
	if err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return b.sent()["wait"] > 0 })
	c := b.conv(a.ConversationID())
	l.fail("watched", errAway) // nobody can tell: it goes on
	a.Close()
	until(t, func() bool { return l.called("watched") >= 3 })
	if n := c.interrupted(); n != 0 {
		t.Errorf("interrupted %d times", n)
	}
	l.fail("watched", nil)
	until(t, func() bool { return l.called("end") > 0 })
	if n := c.interrupted(); n != 1 || l.runs[0].Ending.Stop != "gone" {
		t.Errorf("interrupted %d times, %+v", n, l.runs[0].Ending)
	}
}

func TestARunThatWaitsForTheLedgerSaysSo(t *testing.T) {
	t.Parallel()
	m, l, _ := sharing(t)
	l.turn = make(chan struct{})
	a, err := m.Admit(shared("hello", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	u, err := a.Next(t.Context())
	if err != nil || u.Kind != turn.Queue || u.Text != "Waiting for a running agent to finish" {
		t.Errorf("the client is told %+v, %v", u, err)
	}
	if s := m.Stats(); s.Running != 0 || s.Queued != 1 {
		t.Errorf("stats %+v", s)
	}
	close(l.turn)
	if u, err := a.Next(t.Context()); err != nil || u.Kind != turn.Queue || u.Text != "" {
		t.Errorf("then %+v, %v", u, err)
	}
}

// TestANewManagerLooksForOrphansSoon: where gateways die within seconds of their start,
// nobody else would free the slots of the dead.
func TestANewManagerLooksForOrphansSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, l, _ := sharing(t)
		time.Sleep(500 * time.Millisecond)
		if l.called("orphans") == 0 {
			t.Error("it has not looked")
		}
	})
}
