package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// logged makes a conversation with n events on the disk, which no process has open.
func logged(tb testing.TB, n int) (root, id string) {
	tb.Helper()
	root, id = tb.TempDir(), "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e"
	d, err := store.Create(root, store.NewState(id, nil, "/w"), store.Meta{Created: time.Unix(1790000000, 0)}, store.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if err := d.Close(); err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		e := event.New(eventID(i), "2026-11-21T00:00:00.000000", event.SourceAgent, "", &event.Pause{})
		data, err := e.MarshalJSON()
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d.Path(), "events", fmt.Sprintf("event-%05d-%s.json", i, e.ID)), data, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return root, id
}

func eventID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

func TestAPageIsAPartOfTheLog(t *testing.T) {
	t.Parallel()
	root, id := logged(t, 10)
	for _, tc := range []struct {
		from           string
		newest         bool
		first, n, next int // -1: none
	}{
		{"", false, 0, 4, 4},
		{"", true, 9, 4, 5},
		{eventID(7), false, 7, 3, -1},
		{eventID(2), true, 2, 3, -1},
		{eventID(6), false, 6, 4, -1},
	} {
		events, next, err := store.Page(root, id, tc.from, tc.newest, 4)
		if err != nil || len(events) != tc.n || events[0].ID != eventID(tc.first) || (tc.next < 0) != (next == "") || tc.next >= 0 && next != eventID(tc.next) {
			t.Errorf("Page(%q, %v) = %v, %q, %v", tc.from, tc.newest, events, next, err)
		}
	}
	if _, _, err := store.Page(root, id, eventID(11), false, 4); !errors.Is(err, store.ErrNoEvent) {
		t.Errorf("from an unknown event: %v", err)
	}
	if _, _, err := store.Page(root, "0198c9d2-0000-4b1c-8e3d-4f5a6b7c8d9e", "", false, 4); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of an unknown conversation: %v", err)
	}
}

// A damaged event is left out, and what lies behind a gap is not in the log.
func TestAPageLeavesOutWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	root, id := logged(t, 6)
	dir := filepath.Join(store.Path(root, id), "events")
	if err := os.WriteFile(filepath.Join(dir, "event-00001-"+eventID(1)+".json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "event-00004-"+eventID(4)+".json")); err != nil {
		t.Fatal(err)
	}
	events, next, err := store.Page(root, id, "", false, 100)
	if err != nil || next != "" || len(events) != 3 || events[1].ID != eventID(2) {
		t.Errorf("Page = %v, %q, %v", events, next, err)
	}
}

func TestAConversationIsDescribedWithoutOpeningIt(t *testing.T) {
	t.Parallel()
	root, id := logged(t, 1)
	d, err := store.Describe(root, id)
	if err != nil || d.Created.Unix() != 1790000000 {
		t.Errorf("Describe = %+v, %v", d, err)
	}
	if err := os.Remove(filepath.Join(store.Path(root, id), "meta.json")); err != nil {
		t.Fatal(err)
	}
	if d, err := store.Describe(root, id); err != nil || !d.Created.IsZero() {
		t.Errorf("of an SDK: %+v, %v", d, err)
	}
}

// A page of a long conversation costs a list of names and a hundred files.
func BenchmarkPageOfTenThousand(b *testing.B) {
	root, id := logged(b, 10000)
	b.ResetTimer()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := store.Page(root, id, eventID(5000), true, 100); err != nil {
			b.Fatal(err)
		}
	}
}
