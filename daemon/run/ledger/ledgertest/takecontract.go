package ledgertest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// patience bounds what happens soon on an idle machine.
const patience = waittest.Patience

// taken claims a run until it is the claimer's.
func taken(t *testing.T, g Gateway, c ledger.Claim) (f ledger.Found) {
	t.Helper()
	waittest.Until(t, patience, "the run is taken over", func() (any, bool) {
		var err error
		f, err = g.Ledger.Claim(t.Context(), c)
		return err, err == nil && f.Kind == ledger.Taken
	})
	return f
}

func takenOver(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "key")
	begin(t, a, f)
	claim(t, b, asks("t", "key", f.Conversation), ledger.There)
	a.Die()
	got := taken(t, b, asks("t", "key", f.Conversation))
	if got.Phase != ledger.Sending || got.Baseline != baseline || string(got.Request) != "go" || got.Epoch <= f.Epoch {
		t.Errorf("taken over: %+v", got)
	}
	claim(t, b, asks("t", "key", f.Conversation), ledger.Here)
	wantErr(t, "the fence of the dead", a.Ledger.Running(t.Context(), f.Ticket), ledger.ErrFenced)
	must(t, b.Ledger.Running(t.Context(), got.Ticket), b.Ledger.Running(t.Context(), got.Ticket), b.Ledger.End(t.Context(), got.Ticket, ledger.Ending{}))
}

func cutOff(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "key")
	a.CutOff()
	taken(t, b, asks("t", "key", f.Conversation))
	wantErr(t, "the turn of the one that was cut off", a.Ledger.Turn(t.Context(), f.Ticket), ledger.ErrFenced)
}

func fenced(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "key")
	begin(t, a, f)
	a.Die()
	got := taken(t, b, asks("t", "key", f.Conversation))
	ctx := t.Context()
	for what, err := range map[string]error{
		"Turn": a.Ledger.Turn(ctx, f.Ticket), "Sending": a.Ledger.Sending(ctx, f.Ticket, baseline, nil, true), "Running": a.Ledger.Running(ctx, f.Ticket),
		"End": a.Ledger.End(ctx, f.Ticket, ledger.Ending{}), "Drop": a.Ledger.Drop(ctx, f.Ticket), "Release": a.Ledger.Release(ctx, f.Ticket),
	} {
		wantErr(t, what, err, ledger.ErrFenced)
	}
	if found := claim(t, b, asks("t", "key", f.Conversation), ledger.Here); found.Ticket != got.Ticket || found.Phase != ledger.Sending {
		t.Errorf("the run is %+v, want it as it was taken over: %+v", found, got)
	}
}

func released(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "key")
	must(t, a.Ledger.Release(t.Context(), f.Ticket))
	got := claim(t, b, asks("t", "key", f.Conversation), ledger.Taken)
	if got.Phase != ledger.Queued || string(got.Request) != "go" {
		t.Errorf("taken over: %+v", got)
	}
	begin(t, b, got)
	wantErr(t, "the turn of the one that gave it away", a.Ledger.Turn(t.Context(), f.Ticket), ledger.ErrFenced)
}

func awaited(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "")
	begin(t, a, f)
	got := make(chan ledger.Found, 1)
	go func() {
		found, err := b.Ledger.Await(t.Context(), f.Run)
		if err != nil {
			t.Errorf("Await: %v", err)
		}
		got <- found
	}()
	a.Die()
	if found := <-got; found.Kind != ledger.Taken || found.Phase != ledger.Sending {
		t.Errorf("Await: %+v", found)
	}
}

func orphans(t *testing.T, w World) {
	a, b := pair(t, w)
	c := w.Join(t, few)
	for range 3 {
		f := mine(t, a, "t", "")
		must(t, a.Ledger.Turn(soon(t, patience), f.Ticket), a.Ledger.Sending(t.Context(), f.Ticket, baseline, []byte("hello"), false))
	}
	waits, live := mine(t, a, "t", ""), mine(t, b, "t", "")
	begin(t, b, live)
	a.Die()
	var all []int64
	look := func() (any, bool) {
		for _, g := range []Gateway{b, c, b} {
			got, err := g.Ledger.Orphans(t.Context())
			must(t, err)
			for _, f := range got {
				all = append(all, f.Run)
				if string(f.Request) != "hello" || len(f.Print) == 0 || f.Kind != ledger.Taken || f.Baseline != baseline {
					t.Errorf("found %+v", f)
				}
			}
		}
		return all, len(all) >= 3
	}
	waittest.Until(t, patience, "the runs of the dead are taken over", look)
	look()
	slices.Sort(all)
	if len(all) != 3 || len(slices.Compact(slices.Clone(all))) != 3 || slices.Contains(all, live.Run) || slices.Contains(all, waits.Run) {
		t.Errorf("taken over: %v", all)
	}
}

func forgotten(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "key")
	must(t, a.Ledger.Release(t.Context(), f.Ticket))
	look := func() {
		_, err := b.Ledger.Orphans(t.Context())
		must(t, err)
	}
	look()
	look() // it keeps its place for a while
	got, err := b.Ledger.Find(t.Context(), f.Run)
	if err != nil || got.Kind != ledger.Taken || got.Phase != ledger.Queued {
		t.Fatalf("the run that waits is %+v, %v", got, err)
	}
	must(t, b.Ledger.Release(t.Context(), got.Ticket))
	look()
	w.Age(t, time.Minute)
	look()
	_, err = b.Ledger.Find(t.Context(), f.Run)
	wantErr(t, "a run that no client asks for", err, ledger.ErrFenced)
}

func back(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "key")
	must(t, a.Ledger.Release(t.Context(), f.Ticket))
	_, err := b.Ledger.Orphans(t.Context())
	must(t, err)
	got := claim(t, a, asks("t", "key", f.Conversation), ledger.Taken)
	w.Age(t, time.Minute)
	_, err = b.Ledger.Orphans(t.Context())
	must(t, err)
	begin(t, a, got)
}

func owned(t *testing.T, w World) {
	a, b := pair(t, w)
	f, over := mine(t, a, "t", ""), mine(t, a, "t", "")
	mine(t, b, "t", "")
	begin(t, a, over)
	must(t, a.Ledger.End(t.Context(), over.Ticket, ledger.Ending{}))
	if got, err := a.Ledger.Owned(t.Context()); err != nil || !slices.Equal(got, []ledger.Ticket{f.Ticket}) {
		t.Errorf("Owned: %v, %v; want %v", got, err, f.Ticket)
	}
}

// late checks a gateway that was frozen between its fence and the start of its run: another
// gateway has brought the run to its end meanwhile.
func late(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "key")
	begin(t, a, f)
	must(t, a.Ledger.Running(t.Context(), f.Ticket))
	a.CutOff()
	got := taken(t, b, asks("t", "key", f.Conversation))
	interrupted := make(chan struct{}, 1)
	started := make(chan error, 1)
	go func() {
		started <- a.Ledger.Started(t.Context(), f.Ticket, func(context.Context) error {
			interrupted <- struct{}{}
			return nil
		})
	}()
	select {
	case err := <-started:
		t.Fatalf("Started beside the other gateway: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if len(interrupted) > 0 {
		t.Error("the run of the other gateway was interrupted")
	}
	must(t, b.Ledger.End(t.Context(), got.Ticket, ledger.Ending{}))
	wantErr(t, "Started", <-started, ledger.ErrFenced)
	if len(interrupted) != 1 {
		t.Error("the late run was not interrupted")
	}
}

func watchers(t *testing.T, w World) {
	a, b := pair(t, w)
	f := claim(t, a, asks("t", "k", uuid.New()), ledger.Mine)
	watched := func(want bool) {
		t.Helper()
		if got, err := a.Ledger.Watched(t.Context(), f.Run); err != nil || got != want {
			t.Errorf("Watched: %t, %v; want %t", got, err, want)
		}
	}
	ctx := t.Context()
	must(t, a.Ledger.Watch(ctx, f.Run, 1))
	watched(false) // by itself
	must(t, b.Ledger.Watch(ctx, f.Run, 1), b.Ledger.Watch(ctx, f.Run, 1), b.Ledger.Watch(ctx, f.Run, -1))
	watched(true)
	must(t, b.Ledger.Watch(ctx, f.Run, -1))
	watched(false)
	must(t, b.Ledger.Watch(ctx, f.Run, 1))
	b.CutOff()
	watched(false)
}
