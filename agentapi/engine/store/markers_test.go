package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/uuid"
)

// marks are the names of the markers in the log of a conversation.
func marks(t *testing.T, d *store.Dir) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(d.Path(), "events"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		if strings.Contains(e.Name(), "marker") {
			names = append(names, e.Name())
		}
	}
	return names
}

func marker(n int) string { return fmt.Sprintf(".eventlog-len-%d.marker", n) }

// appendTo appends n events and lets the lock go.
func appendTo(t *testing.T, d *store.Dir, n int) (appended []string) {
	t.Helper()
	for range n {
		e := message(uuid.New(), "")
		if err := d.Append(e, true); err != nil {
			t.Fatal(err)
		}
		appended = append(appended, e.ID)
	}
	d.Rest()
	return appended
}

// stranger writes an event as another process does, with its marker moved from
// and to a number; 0 leaves out that half of the move.
func stranger(t *testing.T, d *store.Dir, index, from, to int) string {
	t.Helper()
	e := message(uuid.New(), "")
	data, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(d.Path(), "events")
	err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("event-%05d-%s.json", index, e.ID)), data, 0o600)
	if from > 0 {
		err = errors.Join(err, os.Remove(filepath.Join(dir, marker(from))))
	}
	if to > 0 {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, marker(to)), nil, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

func TestTheMarkerHasTheNumberOfEvents(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	appendTo(t, d, 3)
	if diff := cmp.Diff([]string{marker(3)}, marks(t, d)); diff != "" {
		t.Errorf("markers after 3 events (-want +got):\n%s", diff)
	}
	info, err := os.Stat(filepath.Join(d.Path(), "events", marker(3)))
	if err != nil || info.Size() != 0 || info.Mode().Perm()&^0o600 != 0 && os.PathSeparator == '/' {
		t.Errorf("the marker: %v, %v", info, err)
	}
	appendTo(t, d, 1)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	appendTo(t, reopen(t, root, us()), 1)
	if diff := cmp.Diff([]string{marker(5)}, marks(t, d)); diff != "" {
		t.Errorf("markers after 5 events (-want +got):\n%s", diff)
	}
}

// A process that is killed while it writes must not leave a marker that OpenHands
// would trust.
func TestThereIsNoMarkerWhileEventsAreWritten(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	appendTo(t, d, 1)
	written := 0
	opts := us()
	opts.Files = &watchedDisk{write: func(path string) {
		if strings.Contains(path, "event-") {
			written++
			if got := marks(t, d); len(got) > 0 {
				t.Errorf("markers before the event is written: %q", got)
			}
		}
	}}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	appendTo(t, reopen(t, root, opts), 2)
	if written != 2 {
		t.Errorf("%d events were written", written)
	}
}

// watchedDisk tells of each file before it is written.
type watchedDisk struct {
	store.Disk
	write func(path string)
}

func (w *watchedDisk) Write(path string, data []byte, sync bool) error {
	w.write(path)
	return w.Disk.Write(path, data, sync)
}

func TestAWrongMarkerCostsNoEvent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// spoil changes a log of five events that is open here, and returns the ids
		// of the events it adds.
		spoil func(t *testing.T, d *store.Dir) []string
		stays []string // markers that cannot be removed
	}{
		"no marker": {spoil: func(t *testing.T, d *store.Dir) []string {
			remove(t, d, marker(5))
			return nil
		}},
		"seven beside five events": {spoil: func(t *testing.T, d *store.Dir) []string {
			remove(t, d, marker(5))
			put(t, d, marker(7))
			return nil
		}},
		"two markers": {spoil: func(t *testing.T, d *store.Dir) []string {
			put(t, d, marker(4))
			return nil
		}},
		"another writer that moves it": {spoil: func(t *testing.T, d *store.Dir) []string {
			return []string{stranger(t, d, 5, 5, 6), stranger(t, d, 6, 6, 7)}
		}},
		"another writer that was killed before it moved it": {spoil: func(t *testing.T, d *store.Dir) []string {
			return []string{stranger(t, d, 5, 0, 0)}
		}},
		"another writer that was killed while it moved it": {spoil: func(t *testing.T, d *store.Dir) []string {
			return []string{stranger(t, d, 5, 5, 0)}
		}},
		"another writer that keeps none": {spoil: func(t *testing.T, d *store.Dir) []string {
			return []string{stranger(t, d, 5, 0, 0), stranger(t, d, 6, 0, 0)}
		}},
		"a temporary file of a writer that was killed": {spoil: func(t *testing.T, d *store.Dir) []string {
			put(t, d, "."+marker(5)+".x1.tmp")
			put(t, d, ".event-00005-00000000-0000-4000-8000-000000000000.json.x1.tmp")
			remove(t, d, marker(5))
			return nil
		}, stays: []string{"." + marker(5) + ".x1.tmp"}},
		"one that cannot be read": {spoil: func(t *testing.T, d *store.Dir) []string {
			if err := os.Chmod(filepath.Join(d.Path(), "events", marker(5)), 0); err != nil {
				t.Fatal(err)
			}
			return nil
		}},
		// As one of another user in a directory that is shared.
		"one that cannot be removed": {spoil: func(t *testing.T, d *store.Dir) []string {
			remove(t, d, marker(5))
			if err := os.MkdirAll(filepath.Join(d.Path(), "events", marker(5), "full"), 0o700); err != nil {
				t.Fatal(err)
			}
			return []string{stranger(t, d, 5, 0, 0)}
		}, stays: []string{marker(5)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			d := create(t, root, us())
			want := appendTo(t, d, 5)
			foreign := tt.spoil(t, d)
			want = append(want, foreign...)
			want = append(want, appendTo(t, d, 2)...)
			if diff := cmp.Diff(want, ids(d.Events())); diff != "" {
				t.Errorf("the open log (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, ids(reopen(t, root, us()).Events())); diff != "" {
				t.Errorf("the log (-want +got):\n%s", diff)
			}
			var told []string
			for _, e := range d.Foreign() {
				told = append(told, e.ID)
			}
			if diff := cmp.Diff(foreign, told); diff != "" || d.Foreign() != nil {
				t.Errorf("events of others (-want +got):\n%s", diff)
			}
			left := append([]string{marker(len(want))}, tt.stays...)
			got := marks(t, d)
			slices.Sort(left)
			slices.Sort(got)
			if diff := cmp.Diff(left, got); diff != "" {
				t.Errorf("markers (-want +got):\n%s", diff)
			}
		})
	}
}

func put(t *testing.T, d *store.Dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.Path(), "events", name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, d *store.Dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(d.Path(), "events", name)); err != nil {
		t.Fatal(err)
	}
}

// What another writer was killed in is set aside, also while the log is open here.
func TestHalfAnEventOfAnotherWriterIsSetAside(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	want := appendTo(t, d, 1)
	put(t, d, "event-00001-00000000-0000-4000-8000-000000000000.json")
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	want = append(want, appendTo(t, d, 1)...)
	if diff := cmp.Diff(want, ids(reopen(t, root, us()).Events())); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(d.Path(), "events", "*.damaged"))
	if err != nil || len(left) != 1 {
		t.Errorf("set aside: %q, %v", left, err)
	}
}

// half is a disk that writes events and says that it did not, and from which they
// cannot be removed.
type half struct {
	store.Disk
	broken bool
}

func (h *half) Write(path string, data []byte, sync bool) error {
	if !h.broken || !strings.Contains(path, "event-") {
		return h.Disk.Write(path, data, sync)
	}
	return errors.Join(h.Disk.Write(path, data, sync), os.Rename(path, path+".x"),
		os.MkdirAll(filepath.Join(path, "full"), 0o700), errFull)
}

// Where an event that failed may be on the disk, no number is right.
func TestThereIsNoMarkerBesideAnEventThatFailed(t *testing.T) {
	t.Parallel()
	disk := &half{}
	opts := us()
	opts.Files = disk
	d := create(t, t.TempDir(), opts)
	appendTo(t, d, 1)
	disk.broken = true
	if err := d.Append(message(uuid.New(), ""), true); !errors.Is(err, errFull) {
		t.Fatalf("error %v", err)
	}
	d.Rest()
	if got := marks(t, d); len(got) > 0 {
		t.Errorf("markers %q", got)
	}
}

// An event of a writer that lives is not in anybody's way: the log is not locked
// while nothing is written.
func TestSyncReadsWhatOthersWrote(t *testing.T) {
	t.Parallel()
	d := create(t, t.TempDir(), us())
	want := appendTo(t, d, 1)
	want = append(want, stranger(t, d, 1, 1, 2))
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	d.Rest()
	if diff := cmp.Diff(want, ids(d.Events())); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	if got := marks(t, d); !cmp.Equal(got, []string{marker(2)}) {
		t.Errorf("markers %q", got)
	}
	if err := os.RemoveAll(d.Path()); err != nil {
		t.Fatal(err)
	}
	if err := d.Sync(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log that is gone: %v", err)
	}
}

// Times of files have the ticks of a clock. A writer that keeps no marker is seen all
// the same, however close it follows.
func TestAWriterRightBehindUsIsSeen(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	var want []string
	for i := range 100 {
		e := message(uuid.New(), "")
		if err := d.Append(e, false); err != nil {
			t.Fatal(err)
		}
		d.Rest()
		want = append(want, e.ID, stranger(t, d, 2*i+1, 0, 0))
	}
	if diff := cmp.Diff(want, ids(reopen(t, root, us()).Events())); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// The files are not counted if no other process has written: counting a long log takes time.
func TestALogThatIsOursIsNotCounted(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	want := appendTo(t, d, 2)
	dir := filepath.Join(d.Path(), "events")
	before, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if before.ModTime().Nanosecond()%1000 == 0 {
		t.Skip("files have coarse times here, and events are always counted")
	}
	put(t, d, marker(7)) // would go with the count
	if err := os.Chtimes(dir, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	want = append(want, appendTo(t, d, 1)...)
	if diff := cmp.Diff([]string{marker(3), marker(7)}, marks(t, d)); diff != "" {
		t.Errorf("markers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, ids(reopen(t, root, us()).Events())); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}
