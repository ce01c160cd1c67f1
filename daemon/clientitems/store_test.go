package clientitems_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/internal/uuid"
)

const conversation = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e"

func item(name string) clientitems.Item {
	return clientitems.Item{ID: name, Data: json.RawMessage(`{"id":"` + name + `"}`), After: "e1", AfterAll: "e2"}
}

// path is the one file of a store.
func path(dir string) string {
	return filepath.Join(dir, "client-items", conversation[:2], conversation+".jsonl")
}

func change(t testing.TB, s *clientitems.Store, c clientitems.Change) {
	t.Helper()
	if err := s.Change(conversation, func(*clientitems.Record) (clientitems.Change, error) { return c, nil }); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, s *clientitems.Store) *clientitems.Record {
	t.Helper()
	rec, err := s.Load(conversation)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestARecordOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"on the disk": t.TempDir(), "in memory": ""} {
		s := clientitems.Open(dir)
		if _, err := s.Load(conversation); !errors.Is(err, clientitems.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		made := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
		if err := s.Create(&clientitems.Record{ID: conversation, Created: made, Made: true, Metadata: map[string]string{"a": "b"}, Items: []clientitems.Item{item("i1")}}); err != nil {
			t.Fatal(err)
		}
		change(t, s, clientitems.Change{Add: []clientitems.Item{item("i2"), item("i3")}, Hide: []string{"x", "y"}, Again: []string{"z"}})
		change(t, s, clientitems.Change{Delete: []string{"i1"}, Told: []string{"i2", "i3"}, Taken: []string{"i3"}, Show: []string{"y"}})
		metadata := map[string]string{"c": "d"}
		change(t, s, clientitems.Change{Metadata: &metadata, Untold: []string{"i3"}, Used: true})
		if dir != "" {
			s = clientitems.Open(dir)
		}
		told := item("i2")
		told.Told = true
		want := &clientitems.Record{
			ID: conversation, Created: made, Made: true, Used: true, Metadata: metadata, Items: []clientitems.Item{told, item("i3")},
			Hidden: map[string]bool{"x": true}, Again: map[string]bool{"z": true},
		}
		if diff := cmp.Diff(want, load(t, s)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if err := s.Delete(conversation); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(conversation); !errors.Is(err, clientitems.ErrNotFound) {
			t.Errorf("%s, deleted: %v", name, err)
		}
	}
}

// What a crash cut off does not count, and does not spoil what comes after it.
func TestATornLineDoesNotCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := clientitems.Open(dir)
	change(t, s, clientitems.Change{Add: []clientitems.Item{item("i1")}})
	change(t, s, clientitems.Change{Add: []clientitems.Item{item("i2")}})
	whole, err := os.ReadFile(path(dir))
	if err != nil {
		t.Fatal(err)
	}
	second := bytes.LastIndex(bytes.TrimSpace(whole), []byte("\n")) + 1
	for cut := second; cut <= len(whole); cut++ {
		if err := os.WriteFile(path(dir), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		change(t, s, clientitems.Change{Add: []clientitems.Item{item("i3")}})
		names := ""
		for _, i := range load(t, s).Items {
			names += i.ID + " "
		}
		if names != "i1 i3 " && names != "i1 i2 i3 " {
			t.Fatalf("cut at %d: %q", cut, names)
		}
		if strings.HasPrefix(string(whole[cut:]), "\n") && names != "i1 i2 i3 " {
			t.Errorf("a whole line was lost: %q", names)
		}
	}
}

// A file that cannot be read is an error, and stays as it is.
func TestAFileThatCannotBeReadIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		content string
		want    error
	}{
		"newer":         {`{"version":2,"id":"` + conversation + `","future":true}`, clientitems.ErrNewer},
		"damaged":       {`{"version":1,"id":"` + conversation, clientitems.ErrDamaged},
		"of another":    {`{"version":1,"id":"0198c9d2-0000-4b1c-8e3d-4f5a6b7c8d9e"}`, clientitems.ErrDamaged},
		"empty":         {"", clientitems.ErrDamaged},
		"of no version": {`{"id":"` + conversation + `"}`, clientitems.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := clientitems.Open(dir)
			if err := os.MkdirAll(filepath.Dir(path(dir)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path(dir), []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Load(conversation); !errors.Is(err, tc.want) {
				t.Errorf("Load: %v", err)
			}
			called := false
			err := s.Change(conversation, func(*clientitems.Record) (clientitems.Change, error) {
				called = true
				return clientitems.Change{Used: true}, nil
			})
			if !errors.Is(err, tc.want) || called {
				t.Errorf("Change: %v, called %v", err, called)
			}
			if data, err := os.ReadFile(path(dir)); err != nil || string(data) != tc.content {
				t.Errorf("the file = %q, %v, want what it was", data, err)
			}
		})
	}
}

func TestAConversationHasABound(t *testing.T) {
	t.Parallel()
	s := clientitems.Open("")
	var many []clientitems.Item
	for i := range clientitems.MaxItems {
		many = append(many, item(fmt.Sprint("i", i)))
	}
	change(t, s, clientitems.Change{Add: many})
	err := s.Change(conversation, func(*clientitems.Record) (clientitems.Change, error) {
		return clientitems.Change{Add: []clientitems.Item{item("one more")}}, nil
	})
	if !errors.Is(err, clientitems.ErrFull) || len(load(t, s).Items) != clientitems.MaxItems {
		t.Errorf("the error of an item too many: %v", err)
	}
	change(t, s, clientitems.Change{Delete: []string{"i0"}, Add: []clientitems.Item{item("one more")}})
	large := item("large")
	large.Data = json.RawMessage(`"` + strings.Repeat("x", 16<<20) + `"`)
	if err := s.Create(&clientitems.Record{ID: uuid.New(), Items: []clientitems.Item{large}}); !errors.Is(err, clientitems.ErrFull) {
		t.Errorf("the error of an item that is too large: %v", err)
	}
}

// Adding and deleting does not make the file grow without end.
func TestTheFileIsWrittenAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := clientitems.Open(dir)
	big := item("big")
	big.Data = json.RawMessage(`"` + strings.Repeat("x", 10<<10) + `"`)
	change(t, s, clientitems.Change{Add: []clientitems.Item{item("kept")}})
	for range 100 {
		change(t, s, clientitems.Change{Add: []clientitems.Item{big}})
		change(t, s, clientitems.Change{Delete: []string{"big"}})
	}
	info, err := os.Stat(path(dir))
	if err != nil || info.Size() > 192<<10 {
		t.Errorf("the size of the file: %v, %v", info.Size(), err)
	}
	if rec := load(t, s); len(rec.Items) != 1 || rec.Items[0].ID != "kept" {
		t.Errorf("the record = %+v, want the one item that is kept", rec)
	}
}

func TestOnlyOldRecordsAreSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := clientitems.Open(dir)
	change(t, s, clientitems.Change{Used: true})
	var gone []string
	sweep := func(before time.Time) {
		t.Helper()
		if err := s.Sweep(context.Background(), before, func(id string) error {
			gone = append(gone, id)
			return s.Delete(id)
		}); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(path(dir), old, old); err != nil {
		t.Fatal(err)
	}
	if sweep(old.Add(-time.Hour)); len(gone) != 0 {
		t.Errorf("gone in the sweep of an hour before: %v", gone)
	}
	if sweep(old.Add(time.Hour)); len(gone) != 1 || gone[0] != conversation {
		t.Errorf("gone in the sweep of an hour after: %v", gone)
	}
	if err := clientitems.Open(filepath.Join(dir, "nothing")).Sweep(t.Context(), old, nil); err != nil {
		t.Error(err)
	}
}

// Whatever is changed, and wherever the process starts again, the record on the
// disk is that in memory.
func TestChangesAreTheSameOnTheDisk(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		runs++
		dir := filepath.Join(root, fmt.Sprint(runs))
		disk, memory := clientitems.Open(dir), clientitems.Open("")
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 3)
		for n := range rapid.IntRange(1, 6).Draw(r, "changes") {
			c := clientitems.Change{
				Delete: names.Draw(r, "delete"), Hide: names.Draw(r, "hide"), Show: names.Draw(r, "show"), Again: names.Draw(r, "again"),
				Told: names.Draw(r, "told"), Taken: names.Draw(r, "taken"), Untold: names.Draw(r, "untold"),
			}
			if rapid.Bool().Draw(r, "add") {
				c.Add = []clientitems.Item{item(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(r, "name"))}
			}
			if rapid.Bool().Draw(r, "restart") {
				disk = clientitems.Open(dir)
			}
			if n == 0 {
				c.Used = true
			}
			change(t, disk, c)
			change(t, memory, c)
		}
		if diff := cmp.Diff(load(t, memory), load(t, disk)); diff != "" {
			r.Fatal(diff)
		}
	})
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"version":1,"id":"` + conversation + `"}` + "\n\n" + `{"add":[{"id":"a","data":{}}],"told":["a"]}` + "\n"))
	f.Add([]byte("{}\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Dir(path(dir)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(dir), data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := clientitems.Open(dir)
		if _, err := s.Load(conversation); err != nil {
			return
		}
		change(t, s, clientitems.Change{Add: []clientitems.Item{item("new")}})
		if load(t, s).Item("new") == nil {
			t.Error("the new item is not there")
		}
	})
}
