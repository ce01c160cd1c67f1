package ledgertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/uuid"
)

// briefly is how long it is watched that something does not happen.
const briefly = 50 * time.Millisecond

func inOrder(t *testing.T, w World) {
	gateways := []Gateway{w.Join(t, few), w.Join(t, few), w.Join(t, few)}
	conversation := uuid.New()
	var tickets []ledger.Ticket
	for i := range 6 {
		tickets = append(tickets, claim(t, gateways[i%3], asks("t", fmt.Sprint(i), conversation), ledger.Mine).Ticket)
	}
	var mu sync.Mutex
	var order []int
	var wg sync.WaitGroup
	for i, ticket := range slices.Backward(tickets) { // whoever asks first
		wg.Go(func() {
			l, ctx := gateways[i%3].Ledger, t.Context()
			err := l.Turn(ctx, ticket)
			if err == nil {
				err = l.Sending(ctx, ticket, baseline, nil, false)
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			if err == nil {
				err = l.Running(ctx, ticket)
			}
			if err == nil {
				err = l.End(ctx, ticket, ledger.Ending{})
			}
			if err != nil {
				t.Errorf("run %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if !slices.IsSorted(order) || len(order) != len(tickets) {
		t.Errorf("the order was %v", order)
	}
}

func bounded(t *testing.T, w World) {
	g := w.Join(t, Options{MaxRuns: 1, MaxQueue: 3, MaxLane: 1})
	conversation := uuid.New()
	for range 2 {
		claim(t, g, asks("t", "", conversation), ledger.Mine)
	}
	_, err := g.Ledger.Claim(t.Context(), asks("t", "", conversation))
	wantErr(t, "a third run in the conversation", err, ledger.ErrLaneFull)
	for range 2 {
		mine(t, g, "t", "")
	}
	_, err = g.Ledger.Claim(t.Context(), asks("t", "", uuid.New()))
	wantErr(t, "a fifth run", err, ledger.ErrQueueFull)
	mine(t, g, "other", "") // a token does not take the places of others
}

func fair(t *testing.T, w World) {
	opts := Options{MaxRuns: 2, MaxQueue: 64, MaxLane: 8}
	a, b := w.Join(t, opts), w.Join(t, opts)
	var busy []ledger.Found
	for range 2 {
		f := mine(t, a, "greedy", "")
		must(t, a.Ledger.Turn(soon(t, patience), f.Ticket))
		busy = append(busy, f)
	}
	greedy, modest := mine(t, a, "greedy", ""), mine(t, b, "modest", "")
	wantErr(t, "a third run beside two", a.Ledger.Turn(soon(t, briefly), greedy.Ticket), context.DeadlineExceeded)
	must(t, a.Ledger.End(t.Context(), busy[0].Ticket, ledger.Ending{}), b.Ledger.Turn(soon(t, patience), modest.Ticket))
	wantErr(t, "the run of the greedy token", a.Ledger.Turn(soon(t, briefly), greedy.Ticket), context.DeadlineExceeded)
	must(t, b.Ledger.Drop(t.Context(), modest.Ticket), a.Ledger.Turn(soon(t, patience), greedy.Ticket))
}

// interrupts counts the interrupts of a run.
type interrupts struct{ n int }

func (i *interrupts) interrupt(context.Context) error {
	i.n++
	return nil
}

func stopped(t *testing.T, w World) {
	a, b := pair(t, w)
	conversation := uuid.New()
	first := claim(t, a, asks("t", "", conversation), ledger.Mine)
	begin(t, a, first)
	must(t, a.Ledger.Running(t.Context(), first.Ticket))
	second := claim(t, a, asks("t", "", conversation), ledger.Mine)
	ended := make(chan error, 1)
	go func() { ended <- a.Ledger.Turn(t.Context(), second.Ticket) }()
	var i interrupts
	if n, err := b.Ledger.Stop(t.Context(), "stranger", conversation, nil, i.interrupt); n != 0 || err != nil || i.n != 0 {
		t.Errorf("a stranger stopped %d runs, %v, and interrupted %d", n, err, i.n)
	}
	if n, err := b.Ledger.Stop(t.Context(), "t", conversation, nil, i.interrupt); n != 2 || err != nil || i.n != 1 {
		t.Errorf("stopped %d, %v, and interrupted %d", n, err, i.n)
	}
	wantErr(t, "the one that waits", <-ended, ledger.ErrStopped)
	wantErr(t, "the one that goes on", a.Ledger.Started(t.Context(), first.Ticket, nothing), ledger.ErrStopped)
	if n, err := b.Ledger.Stop(t.Context(), "", conversation, nil, i.interrupt); n != 0 || err != nil {
		t.Errorf("stopped %d a second time, %v", n, err)
	}
}

func stoppedByKey(t *testing.T, w World) {
	a, b := pair(t, w)
	conversation := uuid.New()
	first := claim(t, a, asks("t", "one", conversation), ledger.Mine)
	claim(t, a, asks("t", "two", conversation), ledger.Mine)
	if n, err := b.Ledger.Stop(t.Context(), "", conversation, []byte("two"), nothing); n != 1 || err != nil {
		t.Errorf("stopped %d, %v", n, err)
	}
	begin(t, a, first)
	var i interrupts
	if ok, err := b.Ledger.StopRun(t.Context(), first.Run, i.interrupt); !ok || err != nil || i.n != 1 {
		t.Errorf("StopRun: %v, %v, interrupted %d", ok, err, i.n)
	}
	if ok, err := b.Ledger.StopRun(t.Context(), first.Run, i.interrupt); ok || err != nil {
		t.Errorf("StopRun a second time: %v, %v", ok, err)
	}
}

func stoppedWaiting(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "")
	must(t, a.Ledger.Turn(soon(t, patience), f.Ticket))
	var i interrupts
	if ok, err := b.Ledger.StopRun(t.Context(), f.Run, i.interrupt); !ok || err != nil || i.n != 0 {
		t.Errorf("StopRun: %v, %v, interrupted %d", ok, err, i.n)
	}
	wantErr(t, "Sending", a.Ledger.Sending(t.Context(), f.Ticket, baseline, nil, false), ledger.ErrStopped)
	must(t, a.Ledger.Drop(t.Context(), f.Ticket))
}

func stoppedEnds(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "key")
	begin(t, a, f)
	if _, err := b.Ledger.Stop(t.Context(), "t", f.Conversation, []byte("key"), nothing); err != nil {
		t.Errorf("Stop: %v", err)
	}
	must(t, a.Ledger.End(t.Context(), f.Ticket, ledger.Ending{}))
	c := asks("t", "", f.Conversation)
	c.Print = []byte("again")
	claim(t, a, c, ledger.Mine) // the conversation is free
}
