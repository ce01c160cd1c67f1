// Package clientitemstest is the contract of stores of client items as tests: of several
// stores over the same records, on one machine or on many.
package clientitemstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Run checks pairs of stores over the same records, which may be one store.
func Run(t *testing.T, open func(*testing.T) (a, b *clientitems.Store)) {
	t.Helper()
	for name, check := range map[string]func(t *testing.T, a, b *clientitems.Store){
		"WhatOneAddsTheOtherHas":          added,
		"ChangesAtTheSameTimeAllStay":     together,
		"AChangeSeesWhatWasThereBeforeIt": counted,
		"WhatIsDeletedIsGoneEverywhere":   deleted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			check(t, a, b)
		})
	}
}

func item(name string) clientitems.Item {
	return clientitems.Item{ID: name, Data: json.RawMessage(`{"id":"` + name + `"}`)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func add(s *clientitems.Store, id string, items ...clientitems.Item) error {
	return s.Change(id, func(*clientitems.Record) (clientitems.Change, error) { return clientitems.Change{Add: items}, nil })
}

func added(t *testing.T, a, b *clientitems.Store) {
	id := uuid.New()
	must(t, a.Create(&clientitems.Record{ID: id, Created: time.Unix(1_790_000_000, 0), Made: true, Items: []clientitems.Item{item("one")}}))
	must(t, add(b, id, item("two")))
	rec, err := a.Load(id)
	must(t, err)
	if len(rec.Items) != 2 || !rec.Made || rec.Item("two") == nil {
		t.Errorf("%+v", rec)
	}
}

func together(t *testing.T, a, b *clientitems.Store) {
	const writers, each = 6, 5
	id := uuid.New()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := add([]*clientitems.Store{a, b}[w%2], id, item(fmt.Sprint(w, "-", i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	rec, err := a.Load(id)
	must(t, err)
	if len(rec.Items) != writers*each {
		t.Errorf("%d items, want %d", len(rec.Items), writers*each)
	}
}

// counted: each change depends on the one before it.
func counted(t *testing.T, a, b *clientitems.Store) {
	const writers, each = 4, 5
	id := uuid.New()
	must(t, a.Create(&clientitems.Record{ID: id, Metadata: map[string]string{"n": ""}}))
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range each {
				err := []*clientitems.Store{a, b}[w%2].Update(id, func(rec *clientitems.Record) (clientitems.Change, error) {
					return clientitems.Change{Metadata: &map[string]string{"n": rec.Metadata["n"] + "x"}}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	rec, err := b.Load(id)
	must(t, err)
	if n := len(rec.Metadata["n"]); n != writers*each {
		t.Errorf("counted %d, want %d", n, writers*each)
	}
}

func deleted(t *testing.T, a, b *clientitems.Store) {
	id := uuid.New()
	must(t, add(a, id, item("one")))
	must(t, b.Delete(id))
	if _, err := a.Load(id); !errors.Is(err, clientitems.ErrNotFound) {
		t.Errorf("Load: %v", err)
	}
	err := a.Update(id, func(*clientitems.Record) (clientitems.Change, error) { return clientitems.Change{Used: true}, nil })
	if !errors.Is(err, clientitems.ErrNotFound) {
		t.Errorf("Update: %v", err)
	}
	must(t, a.Delete(id))
}
