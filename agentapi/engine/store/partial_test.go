package store_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// dying is a disk after some writes of which the process does nothing more.
type dying struct {
	store.Disk
	left int
	then func()
}

func (d *dying) Write(path string, data []byte, sync bool) error {
	if d.left--; d.left < 0 {
		d.then()
	}
	return d.Disk.Write(path, data, sync)
}

func (d *dying) Overwrite(path string, data []byte) error {
	if d.left--; d.left < 0 {
		d.then()
	}
	return d.Disk.Overwrite(path, data)
}

// A base state may be lost, because of a user or a disk. The events of its conversation
// stay, whichever process asks for the id, and the other processes need not wait for a
// lease.
func TestEventsWithoutAStateStay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	if err := errors.Join(d.Append(message(uuid.New(), ""), true), d.Close(), os.Remove(filepath.Join(d.Path(), "base_state.json"))); err != nil {
		t.Fatal(err)
	}
	before, err := filepath.Glob(filepath.Join(d.Path(), "events", "event-*"))
	if err != nil || len(before) != 1 {
		t.Fatal(before, err)
	}
	for _, holder := range []string{"ours", "theirs", "another"} {
		opts := us()
		opts.Holder.Instance = holder
		_, err := store.Create(root, store.NewState(id, nil, "/w"), store.Meta{}, opts, message(uuid.New(), ""))
		damage, ok := errors.AsType[*store.DamageError](err)
		if !ok || damage.File != "base_state.json" || !errors.Is(damage, fs.ErrNotExist) {
			t.Errorf("%s: error %v", holder, err)
		}
	}
	after, err := filepath.Glob(filepath.Join(d.Path(), "events", "event-*"))
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Errorf("the error: %v; events (-before +after):\n%s", err, diff)
	}
}

// What cannot be emptied is not kept from others either.
func TestALeaseEndsWithAFailedCreate(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	events := filepath.Join(store.Path(root, id), "events")
	if err := errors.Join(os.MkdirAll(filepath.Dir(events), 0o700), os.WriteFile(events, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, holder := range []string{"ours", "theirs"} {
		opts := us()
		opts.Holder.Instance = holder
		if _, err := store.Create(root, store.NewState(id, nil, "/w"), store.Meta{}, opts); err == nil || errors.Is(err, store.ErrExists) {
			t.Errorf("%s: error %v", holder, err)
		}
	}
}

// A copy that a dead process has begun is not a lost conversation: the same copy can be
// made again.
func TestHalfACopyIsReplaced(t *testing.T) {
	t.Parallel()
	copied := []event.Event{message(uuid.New(), ""), message(uuid.New(), ""), message(uuid.New(), "")}
	for writes := range 20 {
		root, died := t.TempDir(), t.TempDir()
		opts, isWhole := us(), true
		opts.Files = &dying{left: writes, then: func() {
			if isWhole {
				isWhole = false
				if err := os.CopyFS(filepath.Join(died, "c"), os.DirFS(root)); err != nil {
					t.Error(err)
				}
			}
		}}
		if _, err := store.Create(root, store.NewState(id, json.RawMessage(`{}`), "/w"), store.Meta{}, opts, copied...); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob(filepath.Join(store.Path(root, id), ".ohgw-*")); err != nil || len(left) > 0 {
			t.Errorf("left beside the copy: %v, %v", left, err)
		}
		if isWhole {
			return
		}
		next := us()
		next.Holder.Instance, next.Holder.Alive = "next", func(int) bool { return false }
		d, err := store.Create(filepath.Join(died, "c"), store.NewState(id, json.RawMessage(`{}`), "/w"), store.Meta{}, next, copied...)
		if err != nil {
			t.Fatalf("after %d writes: %v", writes, err)
		}
		if got := ids(d.Events()); len(got) != len(copied) {
			t.Errorf("after %d writes: events %v", writes, got)
		}
	}
	t.Error("no copy was whole")
}
