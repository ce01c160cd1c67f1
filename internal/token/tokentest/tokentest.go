// Package tokentest is the contract of token stores as tests: of several stores over
// the same tokens, on one machine or on many.
package tokentest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/token"
)

// soon is how long a change may take to reach every store.
const soon = time.Second

// Run checks pairs of stores over the same tokens, of which there are none yet.
func Run(t *testing.T, open func(*testing.T) (a, b *token.Store)) {
	t.Helper()
	for name, check := range map[string]func(t *testing.T, a, b *token.Store){
		"ATokenIsKnownEverywhere":      known,
		"ARevokedTokenIsRefusedInTime": revoked,
		"ANameIsGivenOnce":             once,
		"AChangeThatFailsChangesNone":  failed,
		"TheDefaultTokenIsMadeOnce":    byDefault,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			check(t, a, b)
		})
	}
}

func create(t *testing.T, s *token.Store, name string) token.Made {
	t.Helper()
	made, err := s.Create(t.Context(), token.Spec{Name: name, Models: []string{"openhands_work"}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// within waits until a store says of a value what is wanted, for as long as a change
// may take.
func within(t *testing.T, s *token.Store, value string, want error) token.Token {
	t.Helper()
	began := time.Now()
	for {
		got, err := s.Check(value)
		if errors.Is(err, want) || want == nil && err == nil {
			return got
		}
		if time.Since(began) > soon {
			t.Fatalf("after %v Check says %v, want %v", time.Since(began), err, want)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func known(t *testing.T, a, b *token.Store) {
	made := create(t, a, "ci")
	if got := within(t, a, made.Value.Reveal(), nil); got.Name != "ci" {
		t.Errorf("the token is %q", got.Name)
	}
	got, err := b.Check(made.Value.Reveal()) // at once: its client has it already
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != made.ID || got.Name != "ci" || !got.Allows("openhands_work") || got.Allows("other") {
		t.Errorf("the other store knows %+v", got)
	}
	if _, err := b.Check("ohgw-somethingelse"); !errors.Is(err, token.ErrUnknown) {
		t.Errorf("another value: %v", err)
	}
	if list, err := b.List(); err != nil || len(list) != 1 {
		t.Errorf("the list is %v, %v", list, err)
	}
}

func revoked(t *testing.T, a, b *token.Store) {
	made := create(t, a, "ci")
	kept := create(t, a, "kept")
	within(t, b, kept.Value.Reveal(), nil)
	if err := a.Revoke(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	within(t, a, made.Value.Reveal(), token.ErrUnknown)
	within(t, b, made.Value.Reveal(), token.ErrUnknown)
	within(t, b, kept.Value.Reveal(), nil)
}

func once(t *testing.T, a, b *token.Store) {
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = []*token.Store{a, b}[i%2].Create(t.Context(), token.Spec{Name: "ci"})
			if _, err := b.Create(t.Context(), token.Spec{Name: fmt.Sprintf("other%d", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		switch {
		case err == nil:
			made++
		case !errors.Is(err, token.ErrExists):
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("the name was given %d times", made)
	}
	began := time.Now()
	for {
		list, err := a.List()
		if err == nil && len(list) == len(errs)+1 {
			return
		}
		if time.Since(began) > soon {
			t.Fatalf("%d tokens, %v", len(list), err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func failed(t *testing.T, a, b *token.Store) {
	made := create(t, a, "ci")
	if err := b.Revoke(t.Context(), "unknown"); !errors.Is(err, token.ErrNotFound) {
		t.Errorf("revoke an unknown token: %v", err)
	}
	within(t, b, made.Value.Reveal(), nil)
}

func byDefault(t *testing.T, a, b *token.Store) {
	first, err := a.EnsureDefault(t.Context())
	if err != nil || first.Name != token.DefaultName {
		t.Fatalf("made %q, %v", first.Name, err)
	}
	if again, err := b.EnsureDefault(t.Context()); err != nil || again.Name != "" {
		t.Errorf("made again: %q, %v", again.Name, err)
	}
	within(t, b, first.Value.Reveal(), nil)
}
