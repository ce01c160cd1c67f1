package pg_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
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

func claim(t *testing.T, r *pg.Replica, c ledger.Claim, want ledger.Kind) ledger.Found {
	t.Helper()
	f, err := r.Claim(t.Context(), c)
	if err != nil || f.Kind != want {
		t.Fatalf("Claim: kind %d, %v; want kind %d", f.Kind, err, want)
	}
	return f
}

// soon bounds what must not take long.
func soon(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestAKeyIsOneRunOnAllGateways(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 4), join(t, db, 4)
	conv := uuid.New()
	var wg sync.WaitGroup
	kinds := make([]ledger.Kind, 20)
	for i := range kinds {
		wg.Go(func() {
			r := []*pg.Replica{a, b}[i%2]
			f, err := r.Claim(t.Context(), asks("t", "key", conv))
			if err != nil {
				t.Error(err)
			}
			kinds[i] = f.Kind
		})
	}
	wg.Wait()
	mine := 0
	for _, k := range kinds {
		if k == ledger.Mine {
			mine++
		}
	}
	if mine != 1 {
		t.Errorf("the run was made %d times: %v", mine, kinds)
	}
	other := asks("t", "key", conv)
	other.Print = []byte("another request")
	if _, err := b.Claim(t.Context(), other); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("another request with the key: %v", err)
	}
	if f := claim(t, b, asks("u", "key", uuid.New()), ledger.Mine); f.Run == 0 {
		t.Error("another token has no run of its own")
	}
}

func TestAnEndIsTheAnswerOfItsKey(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 4), join(t, db, 4)
	f := claim(t, a, asks("t", "key", uuid.New()), ledger.Mine)
	base := turn.Baseline{After: "event", Usage: turn.Usage{PromptTokens: 3}}
	must(t, a.Turn(t.Context(), f.Ticket), a.Sending(t.Context(), f.Ticket, base, nil, true), a.Running(t.Context(), f.Ticket))
	over := make(chan ledger.Found, 1)
	go func() {
		got, err := b.Await(t.Context(), f.Run)
		if err != nil {
			t.Error(err)
		}
		over <- got
	}()
	must(t, a.End(t.Context(), f.Ticket, ledger.Ending{Result: []byte("answer"), Usage: turn.Usage{PromptTokens: 5, CompletionTokens: 2, Cost: 0.5}}))
	if got := <-over; string(got.Ending.Result) != "answer" || got.Baseline != base {
		t.Errorf("another gateway reads %+v", got)
	}
	claim(t, b, asks("t", "key", f.Conversation), ledger.Closed)
	if err := a.End(t.Context(), f.Ticket, ledger.Ending{}); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("a second end: %v", err)
	}
	if s, err := b.Usage(t.Context(), "t"); err != nil || s != (pg.Spent{Runs: 1, Tokens: 7, Cost: 0.5}) {
		t.Errorf("usage %+v, %v", s, err)
	}
	if n, err := a.Sweep(t.Context(), time.Hour, 0); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if n, err := a.Sweep(t.Context(), 0, time.Hour); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
}

func TestUnkeyedRequestsFollowTheRuleOfJoining(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 4), join(t, db, 4)
	c := asks("t", "", uuid.New())
	first := claim(t, a, c, ledger.Mine)
	c.Joins = func([]ledger.Past) int { return -1 }
	claim(t, b, c, ledger.Mine)
	must(t, a.Left(t.Context(), first.Run, false))
	c.Joins = func(past []ledger.Past) int {
		return slices.IndexFunc(past, func(p ledger.Past) bool { return p.Owed == 1 && !p.Ended && !p.Now.IsZero() })
	}
	if f := claim(t, b, c, ledger.There); f.Run != first.Run {
		t.Errorf("joined run %d, want %d", f.Run, first.Run)
	}
	must(t, a.End(t.Context(), first.Ticket, ledger.Ending{Failed: true}), a.Delivered(t.Context(), first.Run), a.Left(t.Context(), first.Run, true))
	c.Joins = func(past []ledger.Past) int {
		p := past[0]
		if !p.Ended || !p.Failed || p.Owed != 0 || p.Deliveries != 1 || p.DeliveredAt.Before(p.EndedAt) {
			t.Errorf("the rule was told %+v", p)
		}
		return 0
	}
	claim(t, b, c, ledger.Closed)
}

func TestARunOfADeadGatewayIsTakenOver(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 4), join(t, db, 4)
	f := claim(t, a, asks("t", "key", uuid.New()), ledger.Mine)
	must(t, a.Turn(t.Context(), f.Ticket), a.Sending(t.Context(), f.Ticket, turn.Baseline{After: "x"}, nil, true))
	claim(t, b, asks("t", "key", f.Conversation), ledger.There)
	a.Die()
	taken := claim(t, b, asks("t", "key", f.Conversation), ledger.Taken) // at once: the session is gone
	if taken.Phase != ledger.Sending || taken.Baseline.After != "x" || string(taken.Request) != "go" {
		t.Errorf("taken over: %+v", taken)
	}
	if err := a.Running(t.Context(), f.Ticket); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("the fence of the dead: %v", err)
	}
	must(t, b.Running(t.Context(), taken.Ticket))
	if err := a.End(t.Context(), f.Ticket, ledger.Ending{}); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("the end of the dead: %v", err)
	}
	must(t, b.End(t.Context(), taken.Ticket, ledger.Ending{}))
}

func TestAGatewayThatIsCutOffIsDeadAfterItsLease(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 4), join(t, db, 4)
	f := claim(t, a, asks("t", "key", uuid.New()), ledger.Mine)
	time.Sleep(10 * time.Millisecond) // its first sign of life is written
	if _, err := db.Query(t.Context(), "UPDATE replicas SET seen_at = now() - interval '3 minutes' WHERE id = $1", a.ID()); err != nil {
		t.Fatal(err)
	}
	claim(t, b, asks("t", "key", f.Conversation), ledger.Taken)
	if err := a.Turn(t.Context(), f.Ticket); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("the one that was cut off: %v", err)
	}
}

func TestOrphansAreTakenOverOnce(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b, c := join(t, db, 4), join(t, db, 4), join(t, db, 4)
	for range 3 {
		f := claim(t, a, asks("t", "", uuid.New()), ledger.Mine)
		must(t, a.Turn(t.Context(), f.Ticket), a.Sending(t.Context(), f.Ticket, turn.Baseline{}, []byte("hello"), false))
	}
	waits := claim(t, a, asks("t", "", uuid.New()), ledger.Mine)
	live := claim(t, b, asks("t", "", uuid.New()), ledger.Mine)
	a.Die()
	var all []int64
	look := func() bool {
		for _, r := range []*pg.Replica{b, c, b} {
			got, err := r.Orphans(t.Context())
			must(t, err)
			for _, f := range got {
				all = append(all, f.Run)
				if string(f.Request) != "hello" || len(f.Print) == 0 {
					t.Errorf("found %+v", f)
				}
			}
		}
		return len(all) > 0
	}
	waitFor(t, "the end of a session", look)
	look()
	slices.Sort(all)
	if len(all) != 3 || len(slices.Compact(slices.Clone(all))) != 3 || slices.Contains(all, live.Run) {
		t.Errorf("taken over: %v", all)
	}
	// What waits keeps its place for a while.
	f, err := b.Find(t.Context(), waits.Run)
	must(t, err)
	if f.Kind != ledger.Taken || f.Phase != ledger.Queued {
		t.Errorf("the one that waits: %+v", f)
	}
	must(t, b.Release(t.Context(), f.Ticket))
	for range 2 {
		_, err = c.Orphans(t.Context())
		must(t, err)
		_, err = db.Query(t.Context(), "UPDATE runs SET alone_at = alone_at - interval '1 minute'")
		must(t, err)
	}
	if _, err := b.Find(t.Context(), waits.Run); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("nobody asks for it, and it is there: %v", err)
	}
}

// TestARunThatWaitsIsKeptForAGatewayThatIsBack: its session broke, as all do when the
// database starts again.
func TestARunThatWaitsIsKeptForAGatewayThatIsBack(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	claim(t, a, asks("t", "key", uuid.New()), ledger.Mine)
	_, err := db.Query(t.Context(), "UPDATE runs SET alone_at = now() - interval '1 minute'")
	must(t, err)
	for range 2 {
		_, err := b.Orphans(t.Context())
		must(t, err)
	}
	rows, err := db.Query(t.Context(), "SELECT FROM runs WHERE alone_at IS NULL")
	must(t, err)
	if len(rows) != 1 {
		t.Error("the run of a gateway that lives was forgotten")
	}
}

// TestARunThatTheDatabaseLostStaysItsGateways: it was started, and no other gateway
// can know of it.
func TestARunThatTheDatabaseLostStaysItsGateways(t *testing.T) {
	t.Parallel()
	db := database(t)
	a := join(t, db, 1)
	f := claim(t, a, asks("t", "", uuid.New()), ledger.Mine)
	must(t, a.Turn(soon(t, time.Minute), f.Ticket), a.Sending(t.Context(), f.Ticket, turn.Baseline{}, nil, false), a.Running(t.Context(), f.Ticket))
	_, err := db.Query(t.Context(), "DELETE FROM runs")
	must(t, err)
	interrupted := false
	err = a.Started(t.Context(), f.Ticket, func(context.Context) error { interrupted = true; return nil })
	if err != nil || interrupted {
		t.Errorf("Started: %v, interrupted %v", err, interrupted)
	}
}

func TestWatchersOfLivingGatewaysCount(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	f := claim(t, a, asks("t", "k", uuid.New()), ledger.Mine)
	watched := func(want bool) {
		t.Helper()
		if got, err := a.Watched(t.Context(), f.Run); err != nil || got != want {
			t.Errorf("watched: %t, %v", got, err)
		}
	}
	must(t, a.Watch(t.Context(), f.Run, 1))
	watched(false) // by itself
	must(t, b.Watch(t.Context(), f.Run, 1), b.Watch(t.Context(), f.Run, 1), b.Watch(t.Context(), f.Run, -1))
	watched(true)
	must(t, b.Close())
	watched(false)
}

func TestAConversationHasOneRunAtATimeInOrder(t *testing.T) {
	t.Parallel()
	db := database(t)
	gateways := []*pg.Replica{join(t, db, 8), join(t, db, 8), join(t, db, 8)}
	conv := uuid.New()
	var tickets []ledger.Ticket
	for i := range 6 {
		tickets = append(tickets, claim(t, gateways[i%3], asks("t", fmt.Sprint(i), conv), ledger.Mine).Ticket)
	}
	var mu sync.Mutex
	var order []int
	var wg sync.WaitGroup
	for i, ticket := range slices.Backward(tickets) { // whoever asks first
		wg.Go(func() {
			r := gateways[i%3]
			must(t, r.Turn(t.Context(), ticket), r.Sending(t.Context(), ticket, turn.Baseline{}, nil, false), r.Running(t.Context(), ticket))
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			must(t, r.End(t.Context(), ticket, ledger.Ending{}))
		})
	}
	wg.Wait()
	if !slices.IsSorted(order) || len(order) != len(tickets) {
		t.Errorf("the order was %v", order)
	}
}

func TestLanesAndQueuesAreBounded(t *testing.T) {
	t.Parallel()
	db := database(t)
	r, err := pg.Join(t.Context(), db, pg.Options{MaxRuns: 1, MaxQueue: 3, MaxLane: 1, Lease: lease})
	must(t, err)
	t.Cleanup(r.Die)
	conv := uuid.New()
	for range 2 {
		claim(t, r, asks("t", "", conv), ledger.Mine)
	}
	if _, err := r.Claim(t.Context(), asks("t", "", conv)); !errors.Is(err, ledger.ErrLaneFull) {
		t.Errorf("a third in the conversation: %v", err)
	}
	for range 2 {
		claim(t, r, asks("t", "", uuid.New()), ledger.Mine)
	}
	if _, err := r.Claim(t.Context(), asks("t", "", uuid.New())); !errors.Is(err, ledger.ErrQueueFull) {
		t.Errorf("a fifth: %v", err)
	}
	claim(t, r, asks("other", "", uuid.New()), ledger.Mine) // nobody can take the places of others
}

func TestASlotGoesToTheTokenWithTheFewestRuns(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 2), join(t, db, 2)
	var busy []ledger.Found
	for range 2 {
		f := claim(t, a, asks("greedy", "", uuid.New()), ledger.Mine)
		must(t, a.Turn(t.Context(), f.Ticket))
		busy = append(busy, f)
	}
	greedy := claim(t, a, asks("greedy", "", uuid.New()), ledger.Mine)
	modest := claim(t, b, asks("modest", "", uuid.New()), ledger.Mine)
	if err := a.Turn(soon(t, 50*time.Millisecond), greedy.Ticket); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third run beside two: %v", err)
	}
	must(t, a.End(t.Context(), busy[0].Ticket, ledger.Ending{}))
	must(t, b.Turn(soon(t, time.Minute), modest.Ticket))
	if err := a.Turn(soon(t, 50*time.Millisecond), greedy.Ticket); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the greedy token has a slot: %v", err)
	}
	must(t, b.Drop(t.Context(), modest.Ticket), a.Turn(soon(t, time.Minute), greedy.Ticket))
}

// Slots that a gateway adds are there for the runs of all that wait.
func TestMoreSlotsAreUsedAtOnce(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	first, second := claim(t, a, asks("t", "", uuid.New()), ledger.Mine), claim(t, a, asks("t", "", uuid.New()), ledger.Mine)
	must(t, a.Turn(t.Context(), first.Ticket))
	if err := a.Turn(soon(t, 50*time.Millisecond), second.Ticket); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second run in one slot: %v", err)
	}
	must(t, b.Provide(t.Context(), 2), a.Turn(soon(t, time.Minute), second.Ticket))
}

func nothing(context.Context) error { return nil }

func TestAStopReachesEveryGateway(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	conv := uuid.New()
	first := claim(t, a, asks("t", "", conv), ledger.Mine)
	must(t, a.Turn(t.Context(), first.Ticket))
	second := claim(t, a, asks("t", "", conv), ledger.Mine)
	ended := make(chan error, 1)
	go func() { ended <- a.Turn(t.Context(), second.Ticket) }()
	if n, err := b.Stop(t.Context(), "stranger", conv, nil, nothing); n != 0 || err != nil {
		t.Errorf("a stranger stopped %d runs, %v", n, err)
	}
	if n, err := b.Stop(t.Context(), "t", conv, nil, nothing); n != 2 || err != nil {
		t.Errorf("stopped %d, %v", n, err)
	}
	if err := <-ended; !errors.Is(err, ledger.ErrStopped) {
		t.Errorf("the one that waits: %v", err)
	}
	if err := a.Sending(t.Context(), first.Ticket, turn.Baseline{}, nil, false); !errors.Is(err, ledger.ErrStopped) {
		t.Errorf("the one that was to be sent: %v", err)
	}
	if err := a.Started(t.Context(), first.Ticket, nothing); !errors.Is(err, ledger.ErrStopped) {
		t.Errorf("the one that goes on: %v", err)
	}
}

func TestAReleasedRunIsTheNextOnes(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	f := claim(t, a, asks("t", "key", uuid.New()), ledger.Mine)
	must(t, a.Release(t.Context(), f.Ticket))
	taken := claim(t, b, asks("t", "key", f.Conversation), ledger.Taken)
	must(t, b.Turn(soon(t, time.Minute), taken.Ticket))
	if err := a.Turn(t.Context(), f.Ticket); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("the one that gave it away: %v", err)
	}
}

func TestSecretsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:hunter2@127.0.0.1:1/db?sslmode=disable", "postgres://u:hunter2@[::bad/db", "mysql://u:hunter2@h/db"} {
		db, err := pg.Open(url)
		if err == nil {
			_, err = db.Check(t.Context())
			db.Close()
		}
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
}

// TestALateSignOfLifeIsGivenAtOnce: on a busy machine it comes late, and no other gateway
// has missed it yet. One that is too late keeps a run from beginning.
func TestALateSignOfLifeIsGivenAtOnce(t *testing.T) {
	t.Parallel()
	r, err := pg.Join(t.Context(), database(t), pg.Options{MaxRuns: 4, MaxQueue: 64, MaxLane: 8, Lease: time.Hour})
	must(t, err)
	t.Cleanup(r.Die)
	for _, late := range []struct {
		ago  time.Duration
		want error
	}{{40 * time.Minute, nil}, {50 * time.Minute, ledger.ErrFenced}} {
		f := claim(t, r, asks("t", "", uuid.New()), ledger.Mine)
		must(t, r.Miss(t.Context(), late.ago))
		if err := r.Sending(t.Context(), f.Ticket, turn.Baseline{}, nil, false); !errors.Is(err, late.want) {
			t.Errorf("%v late: sending: %v, want %v", late.ago, err, late.want)
		}
		must(t, r.Miss(t.Context(), late.ago))
		if err := r.Running(t.Context(), f.Ticket); !errors.Is(err, late.want) {
			t.Errorf("%v late: running: %v, want %v", late.ago, err, late.want)
		}
	}
}

// TestAClaimTakesAFreeSlot: most runs need no Turn.
func TestAClaimTakesAFreeSlot(t *testing.T) {
	t.Parallel()
	r := join(t, database(t), 1)
	first := claim(t, r, asks("t", "", uuid.New()), ledger.Mine)
	second := claim(t, r, asks("t", "key", uuid.New()), ledger.Mine)
	if !first.Slot || second.Slot {
		t.Errorf("the first has a slot: %v, the second: %v", first.Slot, second.Slot)
	}
	must(t, r.Sending(t.Context(), first.Ticket, turn.Baseline{}, nil, false), r.Running(t.Context(), first.Ticket), r.End(t.Context(), first.Ticket, ledger.Ending{}))
	must(t, r.Turn(soon(t, time.Minute), second.Ticket))
	lane := claim(t, r, asks("t", "", second.Conversation), ledger.Mine)
	if lane.Slot {
		t.Error("the second run of a conversation has a slot beside the first")
	}
}

// TestRepeatsLeaveRoomForNewRequests: many that have to wait for something in the database
// do not keep a new request from its run.
func TestRepeatsLeaveRoomForNewRequests(t *testing.T) {
	t.Parallel()
	r := join(t, database(t), 4)
	ask := asks("t", "", uuid.New())
	ask.Joins = func([]ledger.Past) int { return -1 }
	first := claim(t, r, ask, ledger.Mine)
	must(t, r.Drop(t.Context(), first.Ticket))
	again := claim(t, r, ask, ledger.Mine)
	must(t, r.Sending(t.Context(), again.Ticket, turn.Baseline{}, nil, false), r.Running(t.Context(), again.Ticket), r.End(t.Context(), again.Ticket, ledger.Ending{}))
	var repeats sync.WaitGroup
	alone, err := r.Shots().Alone(t.Context(), ask.Conversation, func(context.Context) error {
		for range 40 { // more than there are connections
			repeats.Go(func() {
				if _, err := r.Claim(t.Context(), ask); err != nil && !errors.Is(err, ledger.ErrLaneFull) {
					t.Error(err)
				}
			})
		}
		waitFor(t, "repeats", func() bool { return r.Repeats() == 8 })
		_, err := r.Claim(soon(t, time.Minute), asks("t", "", uuid.New()))
		return err
	})
	if err != nil || !alone {
		t.Errorf("a new request beside repeats that wait: %v, %v", alone, err)
	}
	repeats.Wait()
}
