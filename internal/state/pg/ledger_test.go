package pg_test

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// asks is a claim of a client.
func asks(token, key, conversation string) ledger.Claim {
	c := ledger.Claim{Token: token, Print: []byte(token + conversation), Conversation: conversation, Request: []byte("go")}
	if key != "" {
		c.Key = []byte(key)
	}
	return c
}

func claim(t *testing.T, l *pg.Ledger, c ledger.Claim, want ledger.Kind) ledger.Found {
	t.Helper()
	f, err := l.Claim(t.Context(), c)
	if err != nil || f.Kind != want {
		t.Fatalf("Claim: kind %d, %v; want kind %d", f.Kind, err, want)
	}
	return f
}

// send brings a run so far that its message is sent.
func send(t *testing.T, l *pg.Ledger, f ledger.Found) {
	t.Helper()
	must(t, l.Turn(soon(t, waittest.Patience), f.Ticket), l.Sending(t.Context(), f.Ticket, turn.Baseline{}, nil, false))
}

func TestTheUsageOfARunIsKnownUntilItIsForgotten(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 4), join(t, db, 4)
	l, other := a.Ledger(), b.Ledger()
	f := claim(t, l, asks("t", "key", uuid.New()), ledger.Mine)
	send(t, l, f)
	usage := func(u turn.Usage) {
		t.Helper()
		if got, err := other.Find(t.Context(), f.Run); err != nil || got.Ending.Usage != u {
			t.Errorf("usage at another gateway = %+v, %v; want %+v", got.Ending.Usage, err, u)
		}
	}
	usage(turn.Usage{})
	spent, all := turn.Usage{PromptTokens: 5, Cost: 0.25}, turn.Usage{PromptTokens: 5, CompletionTokens: 2, Cost: 0.5}
	must(t, l.Spends(t.Context(), f.Ticket, spent))
	usage(spent)
	must(t, l.End(t.Context(), f.Ticket, ledger.Ending{Usage: all}))
	usage(all)
	if err := l.Spends(t.Context(), f.Ticket, spent); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("Spends after the end: %v, want ErrFenced", err)
	}
	sum := rows(t, db, "SELECT sum((usage->>'cost')::float8) FROM runs WHERE token = 't'")
	if sum[0][0] != "0.5" {
		t.Errorf("sum of the costs = %s, want 0.5", sum[0][0])
	}
}

func TestRunsThatEndedAreForgotten(t *testing.T) {
	t.Parallel()
	r := join(t, database(t), 4)
	l := r.Ledger()
	for _, key := range []string{"key", ""} {
		f := claim(t, l, asks("t", key, uuid.New()), ledger.Mine)
		must(t, l.Watch(t.Context(), f.Run, 1), l.End(t.Context(), f.Ticket, ledger.Ending{}))
	}
	claim(t, l, asks("t", "", uuid.New()), ledger.Mine)
	for _, sweep := range []struct {
		keyed, unkeyed time.Duration
		want           int
	}{{time.Hour, time.Hour, 0}, {time.Hour, 0, 1}, {0, time.Hour, 1}, {0, 0, 0}} {
		if n, err := r.Sweep(t.Context(), sweep.keyed, sweep.unkeyed); n != sweep.want || err != nil {
			t.Errorf("runs forgotten after %v and %v = %d, %v; want %d", sweep.keyed, sweep.unkeyed, n, err, sweep.want)
		}
	}
}

// All gateways ask at the same time when one of them dies.
func TestARunIsTakenOverByOneGateway(t *testing.T) {
	t.Parallel()
	db := database(t)
	dead := join(t, db, 4)
	f := claim(t, dead.Ledger(), asks("t", "key", uuid.New()), ledger.Mine)
	send(t, dead.Ledger(), f)
	var others []*pg.Ledger
	for range 4 {
		others = append(others, join(t, db, 4).Ledger())
	}
	dead.Die()
	kinds := make([]ledger.Kind, 16)
	var wg sync.WaitGroup
	for i := range kinds {
		wg.Go(func() {
			got, err := others[i%4].Claim(t.Context(), asks("t", "key", f.Conversation))
			if err != nil {
				t.Error(err)
			}
			kinds[i] = got.Kind
		})
	}
	wg.Wait()
	taken := 0
	for _, k := range kinds {
		if k == ledger.Taken {
			taken++
		}
	}
	if taken != 1 {
		t.Errorf("takeovers = %d of %v, want 1", taken, kinds)
	}
}

// Two gateways that ask whether a third one is dead do not take each other for it.
func TestWhoAsksIsNotTakenForTheOwner(t *testing.T) {
	t.Parallel()
	db := database(t)
	dead, a, b := join(t, db, 1), join(t, db, 1), join(t, db, 1)
	f := claim(t, dead.Ledger(), asks("t", "key", uuid.New()), ledger.Mine)
	dead.Die()
	must(t, a.WhileAsking(t.Context(), dead.ID(), func() { claim(t, b.Ledger(), asks("t", "key", f.Conversation), ledger.Taken) }))
}

// A run was started, its gateway lives, and a crash of the database took its row along.
func TestARunThatTheDatabaseLostStaysItsGateways(t *testing.T) {
	t.Parallel()
	db := database(t)
	l := join(t, db, 1).Ledger()
	f := claim(t, l, asks("t", "", uuid.New()), ledger.Mine)
	send(t, l, f)
	must(t, l.Running(t.Context(), f.Ticket))
	rows(t, db, "DELETE FROM runs")
	interrupted := false
	err := l.Started(t.Context(), f.Ticket, func(context.Context) error { interrupted = true; return nil })
	if err != nil || interrupted {
		t.Errorf("Started: %v, interrupted %v", err, interrupted)
	}
}

// On a busy machine a sign of life comes late, and no other gateway has missed it yet. One that is
// too late keeps a run from beginning.
func TestALateSignOfLifeIsGivenWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	r, err := pg.Join(t.Context(), database(t), pg.Options{MaxRuns: 4, MaxQueue: 64, MaxLane: 8, Lease: time.Hour})
	must(t, err)
	t.Cleanup(r.Die)
	l := r.Ledger()
	for _, late := range []struct {
		ago  time.Duration
		want error
	}{{40 * time.Minute, nil}, {50 * time.Minute, ledger.ErrFenced}} {
		f := claim(t, l, asks("t", "", uuid.New()), ledger.Mine)
		must(t, r.Miss(t.Context(), late.ago))
		if err := l.Sending(t.Context(), f.Ticket, turn.Baseline{}, nil, false); !errors.Is(err, late.want) {
			t.Errorf("Sending %v late: %v, want %v", late.ago, err, late.want)
		}
		must(t, r.Miss(t.Context(), late.ago))
		if err := l.Running(t.Context(), f.Ticket); !errors.Is(err, late.want) {
			t.Errorf("Running %v late: %v, want %v", late.ago, err, late.want)
		}
	}
}

// A gateway that waits for a run of another one does not have to look again for its end.
func TestTheEndOfARunWakesWhoWaits(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 2), join(t, db, 2)
	for what, do := range map[string]func(l *pg.Ledger, f ledger.Found) error{
		"end": func(l *pg.Ledger, f ledger.Found) error {
			return errors.Join(b.Ledger().Watch(t.Context(), f.Run, 1), l.End(t.Context(), f.Ticket, ledger.Ending{}))
		},
		"release": func(l *pg.Ledger, f ledger.Found) error { return l.Release(t.Context(), f.Ticket) },
	} {
		f := claim(t, a.Ledger(), asks("t", "", uuid.New()), ledger.Mine)
		rung, take := b.Bell(f.Run)
		defer take()
		must(t, do(a.Ledger(), f))
		select {
		case <-rung:
		case <-time.After(waittest.Patience):
			t.Errorf("the %s of a run wakes no gateway that waits for it", what)
		}
	}
}

// Each client that waits for a run at one gateway is woken.
func TestAllWhoWaitForARunAreWoken(t *testing.T) {
	t.Parallel()
	r := join(t, database(t), 1)
	one, takeOne := r.Bell(7)
	two, takeTwo := r.Bell(7)
	takeOne()
	three, takeThree := r.Bell(7)
	defer takeTwo()
	defer takeThree()
	r.Ring(7)
	if len(one) != 0 || len(two) != 1 || len(three) != 1 {
		t.Errorf("woken = %d, %d, %d; want all but the first, which has left", len(one), len(two), len(three))
	}
}

// Slots that a gateway adds are there for the runs of all that wait, and one that is too many is
// gone with its run.
func TestSlotsChangeWhileRunsGoOn(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	l := a.Ledger()
	first, second := claim(t, l, asks("t", "", uuid.New()), ledger.Mine), claim(t, l, asks("t", "", uuid.New()), ledger.Mine)
	if err := l.Turn(soon(t, 50*time.Millisecond), second.Ticket); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second run in one slot: %v", err)
	}
	must(t, b.Provide(t.Context(), 2), l.Turn(soon(t, waittest.Patience), second.Ticket))
	must(t, b.Provide(t.Context(), 1))
	if got := rows(t, db, "SELECT count(*) FROM slots WHERE run IS NOT NULL")[0][0]; got != "2" {
		t.Errorf("slots in use = %s, want 2", got)
	}
	must(t, l.End(t.Context(), first.Ticket, ledger.Ending{}), l.End(t.Context(), second.Ticket, ledger.Ending{}))
	if got := rows(t, db, "SELECT count(*) FROM slots")[0][0]; got != "1" {
		t.Errorf("slots after the runs = %s, want 1", got)
	}
}

// A gateway may be frozen within a transaction.
func TestAFrozenGatewayHoldsNoLockForEver(t *testing.T) {
	t.Parallel()
	target := server.Database(t)
	slow := dial(t, target)
	slow.Hurry(5 * time.Second)
	_, err := slow.Migrate(t.Context())
	must(t, err)
	a, b := join(t, slow, 4).Ledger(), join(t, dial(t, target), 4).Ledger()
	conversation := uuid.New()
	send(t, a, claim(t, a, asks("t", "one", conversation), ledger.Mine))
	within, thaw, stopped := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := a.Stop(t.Context(), "t", conversation, nil, func(context.Context) error {
			close(within)
			<-thaw
			return nil
		})
		stopped <- err
	}()
	<-within
	claim(t, b, asks("t", "two", conversation), ledger.Mine)
	close(thaw)
	if err := <-stopped; !errors.Is(err, pg.ErrUnavailable) {
		t.Errorf("Stop of the frozen gateway: %v, want ErrUnavailable", err)
	}
}

// Behind a pooler each transaction may have another connection, and an old PgBouncer does not know
// statements by name.
func TestAPoolerKeepsTheProtocol(t *testing.T) {
	t.Parallel()
	target := server.Database(t)
	direct := dial(t, target)
	_, err := direct.Migrate(t.Context())
	must(t, err)
	u, err := url.Parse(target)
	must(t, err)
	db, other := dial(t, server.Pooler(t, u.Path[1:])), dial(t, server.Database(t))
	if err := db.CheckSession(t.Context()); !errors.Is(err, pg.ErrPooler) {
		t.Errorf("session through the pooler: %v, want ErrPooler", err)
	}
	must(t, direct.CheckSession(t.Context()))
	db.Pooled()
	if _, err := pg.Join(t.Context(), db, pg.Options{MaxRuns: 4, Direct: other}); !errors.Is(err, pg.ErrOtherDatabase) {
		t.Errorf("session in another database: %v, want ErrOtherDatabase", err)
	}
	if left := rows(t, direct, "SELECT FROM replicas"); len(left) != 0 {
		t.Errorf("gateways after a refused start = %d, want 0", len(left))
	}
	for _, o := range []pg.Options{{MaxRuns: 4, MaxQueue: 4, MaxLane: 4, Direct: direct}, {MaxRuns: 4, MaxQueue: 4, MaxLane: 4, LeaseOnly: true}} {
		a, err := pg.Join(t.Context(), db, o)
		must(t, err)
		b, err := pg.Join(t.Context(), db, o)
		must(t, err)
		c := asks("t", uuid.New(), uuid.New())
		f := claim(t, a.Ledger(), c, ledger.Mine)
		claim(t, b.Ledger(), c, ledger.There)
		send(t, a.Ledger(), f)
		must(t, a.Ledger().Running(t.Context(), f.Ticket), a.Ledger().End(t.Context(), f.Ticket, ledger.Ending{Result: []byte("done")}))
		if got := claim(t, b.Ledger(), c, ledger.Closed); string(got.Ending.Result) != "done" {
			t.Errorf("end of the run = %q", got.Ending.Result)
		}
		must(t, a.Close(), b.Close())
	}
}

func TestAClaimNotesTheOwner(t *testing.T) {
	t.Parallel()
	r := join(t, database(t), 8)
	c := asks("t", "", uuid.New())
	c.Owned = true
	f := claim(t, r.Ledger(), c, ledger.Mine)
	other := claim(t, r.Ledger(), asks("t", "", uuid.New()), ledger.Mine)
	owns := func(conversation, want string) {
		t.Helper()
		if owner, err := r.Owners().Owner(conversation); err != nil || owner != want {
			t.Errorf("owner = %q, %v; want %q", owner, err, want)
		}
	}
	if !f.Noted {
		t.Error("the claim does not report that it noted the owner")
	}
	owns(f.Conversation, "t")
	owns(other.Conversation, "")
	must(t, r.Owners().Claim(other.Conversation, "u"), r.Owners().Forget(f.Conversation))
	owns(other.Conversation, "u")
	owns(f.Conversation, "")
	if err := r.Owners().Claim(f.Conversation, "two words"); err == nil {
		t.Error("an owner that is not a token id was noted")
	}
}
