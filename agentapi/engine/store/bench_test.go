package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/uuid"
)

func BenchmarkAppend(b *testing.B) {
	for name, sync := range map[string]bool{"synced": true, "unsynced": false} {
		b.Run(name, func(b *testing.B) {
			d, err := store.Create(b.TempDir(), store.NewState(id, json.RawMessage(`{}`), "/w"), store.Meta{Created: time.Now()}, us())
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := d.Append(message(uuid.New(), ""), sync); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTurn writes what a plain turn writes: the user's message, three
// state updates, the answer.
func BenchmarkTurn(b *testing.B) {
	d, err := store.Create(b.TempDir(), store.NewState(id, json.RawMessage(`{}`), "/w"), store.Meta{Created: time.Now()}, us())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, sync := range []bool{true, false, false, true, false} {
			if err := d.Append(message(uuid.New(), ""), sync); err != nil {
				b.Fatal(err)
			}
		}
		if err := d.SaveState(false); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen10000(b *testing.B) {
	root := b.TempDir()
	d, err := store.Create(root, store.NewState(id, json.RawMessage(`{}`), "/w"), store.Meta{Created: time.Now()}, us())
	if err != nil {
		b.Fatal(err)
	}
	parent := ""
	for range 10_000 {
		e := message(uuid.New(), parent)
		parent = e.ID
		if err := d.Append(e, false); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		d, err := store.Open(root, id, us())
		if err != nil {
			b.Fatal(err)
		}
		if branch, err := d.Branch(d.Head()); err != nil || len(branch) != 10_000 {
			b.Fatalf("%d events, %v", len(branch), err)
		}
	}
}

func BenchmarkSaveState(b *testing.B) {
	d, err := store.Create(b.TempDir(), store.NewState(id, json.RawMessage(`{}`), "/w"), store.Meta{Created: time.Now()}, us())
	if err != nil {
		b.Fatal(err)
	}
	for name, sync := range map[string]bool{"synced": true, "unsynced": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := d.SaveState(sync); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
