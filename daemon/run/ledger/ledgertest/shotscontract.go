package ledgertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// hadRun is a conversation that had a run, which is over.
func hadRun(t *testing.T, g Gateway) string {
	t.Helper()
	f := mine(t, g, "t", "")
	begin(t, g, f)
	must(t, g.Ledger.End(t.Context(), f.Ticket, ledger.Ending{}))
	return f.Conversation
}

// due removes what is due, and returns it. With again every removal fails.
func due(t *testing.T, g Gateway, again time.Duration) (removed []string) {
	t.Helper()
	for {
		found, err := g.Shots.Due(t.Context(), time.Hour, func(_ context.Context, id string, _ int) time.Duration {
			removed = append(removed, id)
			return again
		})
		must(t, err)
		if !found {
			return removed
		}
	}
}

func shotIsRemoved(t *testing.T, w World) {
	a, b := pair(t, w)
	ctx, s := t.Context(), a.Shots
	over, later, kept, held, plain := hadRun(t, a), hadRun(t, a), hadRun(t, a), hadRun(t, a), hadRun(t, a)
	for _, id := range []string{over, later, kept, held} {
		must(t, s.Add(ctx, id), s.Ends(ctx, id, 0))
	}
	for id, want := range map[string]bool{over: true, plain: false, "of another kind": false} {
		if has, err := b.Shots.Has(ctx, id); has != want || err != nil {
			t.Errorf("Has(%s): %v, %v", id, has, err)
		}
	}
	must(t, s.Ends(ctx, later, time.Hour), b.Shots.Keep(ctx, kept), b.Shots.Hold(ctx, held), s.Ends(ctx, plain, 0))
	if got := due(t, b, 0); !slices.Equal(got, []string{over}) {
		t.Errorf("due are %v, want %s", got, over)
	}
	if got := slices.Concat(due(t, a, 0), due(t, b, 0)); len(got) != 0 {
		t.Errorf("removed again: %v", got)
	}
	must(t, s.Ends(ctx, held, 0), b.Shots.Forget(ctx, later))
	w.Age(t, 2*time.Hour)
	if got := due(t, b, 0); !slices.Equal(got, []string{held}) {
		t.Errorf("due are %v, want %s", got, held)
	}
}

func shotOfTheDead(t *testing.T, w World) {
	a, b := pair(t, w)
	id := hadRun(t, a)
	must(t, a.Shots.Add(t.Context(), id))
	a.Die() // before Ends was called
	if got := due(t, b, 0); len(got) != 0 {
		t.Errorf("removed at once: %v", got)
	}
	w.Age(t, 2*time.Hour)
	if got := due(t, b, 0); !slices.Equal(got, []string{id}) {
		t.Errorf("due are %v, want %s", got, id)
	}
}

func shotFails(t *testing.T, w World) {
	a, b := pair(t, w)
	id := hadRun(t, a)
	must(t, a.Shots.Add(t.Context(), id), a.Shots.Ends(t.Context(), id, 0))
	if got := due(t, a, time.Minute); !slices.Equal(got, []string{id}) {
		t.Errorf("due are %v, want %s", got, id)
	}
	if got := due(t, b, 0); len(got) != 0 {
		t.Errorf("tried again at once: %v", got)
	}
	w.Age(t, 2*time.Minute)
	failed := -1
	found, err := b.Shots.Due(t.Context(), time.Hour, func(_ context.Context, _ string, tries int) time.Duration {
		failed = tries
		return 0
	})
	if !found || err != nil || failed != 1 {
		t.Errorf("Due: %v, %v after %d failures; want true after 1", found, err, failed)
	}
}

func shotAlone(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "")
	called := errors.New("called")
	call := func(context.Context) error { return called }
	if ok, err := b.Shots.Alone(t.Context(), f.Conversation, call); ok || err != nil {
		t.Errorf("Alone beside a run: %v, %v", ok, err)
	}
	must(t, a.Shots.Add(t.Context(), f.Conversation), a.Shots.Ends(t.Context(), f.Conversation, 0))
	if got := due(t, b, 0); len(got) != 0 {
		t.Errorf("removed under its run: %v", got)
	}
	must(t, a.Ledger.Drop(t.Context(), f.Ticket))
	_, err := b.Shots.Alone(t.Context(), f.Conversation, call)
	wantErr(t, "Alone", err, called)
	claimed := make(chan ledger.Found, 1)
	ok, err := b.Shots.Alone(t.Context(), f.Conversation, func(context.Context) error {
		go func() {
			got, err := a.Ledger.Claim(t.Context(), asks("t", "", f.Conversation))
			if err != nil {
				t.Errorf("Claim: %v", err)
			}
			claimed <- got
		}()
		select {
		case got := <-claimed:
			t.Errorf("a run was claimed meanwhile: %+v", got)
		case <-time.After(briefly):
		}
		return nil
	})
	if !ok || err != nil {
		t.Errorf("Alone: %v, %v", ok, err)
	}
	if got := <-claimed; got.Kind != ledger.Mine {
		t.Errorf("the claim found %+v", got)
	}
}
