// Package ownerstest is the contract of stores of owners as tests: those in files and in
// a database pass it alike.
package ownerstest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/internal/uuid"
)

// Store knows which token began a conversation; see run.Owners.
type Store interface {
	Owner(conversation string) (token string, err error)
	Claim(conversation, token string) error
	Forget(conversation string) error
}

// Run checks pairs of stores over the same conversations, which may be one store.
func Run(t *testing.T, open func(*testing.T) (a, b Store)) {
	t.Helper()
	for name, check := range map[string]func(t *testing.T, a, b Store){
		"AConversationIsItsOwners":       owned,
		"TheLastClaimCounts":             claimedTwice,
		"WhatIsNoTokenOwnsNothing":       refused,
		"ManyClaimsAtTheSameTimeAllStay": together,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			check(t, a, b)
		})
	}
}

func want(t *testing.T, s Store, conversation, token string) {
	t.Helper()
	if got, err := s.Owner(conversation); err != nil || got != token {
		t.Errorf("the owner is %q, %v; want %q", got, err, token)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func owned(t *testing.T, a, b Store) {
	id := uuid.New()
	want(t, a, id, "")
	must(t, a.Claim(id, "one"))
	want(t, a, id, "one")
	want(t, b, id, "one")
	want(t, b, uuid.New(), "")
	must(t, b.Forget(id))
	want(t, a, id, "")
	must(t, a.Forget(id))
}

func claimedTwice(t *testing.T, a, b Store) {
	id := uuid.New()
	must(t, a.Claim(id, "one"))
	must(t, b.Claim(id, "two"))
	want(t, a, id, "two")
}

func refused(t *testing.T, a, _ Store) {
	id := uuid.New()
	for _, token := range []string{"", "a b", "a\nb", "a;b"} {
		if a.Claim(id, token) == nil {
			t.Errorf("%q owns a conversation", token)
		}
	}
	want(t, a, id, "")
	if _, err := a.Owner("no uuid"); err == nil {
		t.Error("what is no conversation may have an owner")
	}
}

func together(t *testing.T, a, b Store) {
	ids := make([]string, 20)
	var wg sync.WaitGroup
	for i := range ids {
		ids[i] = uuid.New()
		wg.Go(func() {
			if err := []Store{a, b}[i%2].Claim(ids[i], fmt.Sprint("t", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, id := range ids {
		want(t, b, id, fmt.Sprint("t", i))
	}
}
