package namelock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// Many take some of four names, in any order and some of them twice, and some of them
// give up. No two hold one name, all end, and no name is kept.
func TestNobodyHoldsANameWithAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks Locks
		all := []string{"a", "b", "", "/d"}
		holders := make([]int, len(all)) // under the locks: the race detector sees more than the test
		gone := errors.New("gone")
		var wg sync.WaitGroup
		for seed := range uint64(40) {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(seed, 0))
				ctx, cancel := context.WithCancelCause(t.Context())
				if seed%5 == 0 {
					cancel(gone)
				}
				defer cancel(nil)
				for range 20 {
					var names []string
					for range 1 + random.IntN(4) {
						names = append(names, all[random.IntN(len(all))])
					}
					before := slices.Clone(names)
					release, err := locks.Take(ctx, names...)
					if !slices.Equal(names, before) {
						t.Errorf("the caller's names were sorted: %q, %q", before, names)
					}
					if err != nil {
						if !errors.Is(err, gone) {
							t.Errorf("seed %d: %v", seed, err)
						}
						continue
					}
					for i, name := range all {
						if slices.Contains(names, name) {
							if holders[i]++; holders[i] != 1 {
								t.Errorf("%q has %d holders", name, holders[i])
							}
							holders[i]--
						}
					}
					release()
				}
			})
		}
		wg.Wait()
		if len(locks.held) > 0 {
			t.Errorf("kept: %v", locks.held)
		}
	})
}

// Who waits gets the name when it is released, also where another one gave up.
func TestAWaiterGetsTheName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks Locks
		release, err := locks.Take(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := locks.Take(ctx, "b", "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
		synctest.Wait()
		cancel() // while it holds a
		wg.Wait()
		got := 0
		for range 2 {
			wg.Go(func() {
				release, err := locks.Take(t.Context(), "a", "b")
				if err != nil {
					t.Error(err)
					return
				}
				got++
				release()
			})
		}
		synctest.Wait()
		if got != 0 {
			t.Error("a name that is held was taken")
		}
		release()
		wg.Wait()
		if got != 2 {
			t.Errorf("%d of two got the name", got)
		}
	})
}
