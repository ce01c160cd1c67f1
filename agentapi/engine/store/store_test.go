package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

const id = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"

func us() store.Options {
	return store.Options{Holder: store.Holder{Instance: "ours", Host: "h", PID: 1, Alive: func(int) bool { return true }}}
}

func create(t *testing.T, root string, opts store.Options) *store.Dir {
	t.Helper()
	d, err := store.Create(root, store.NewState(id, json.RawMessage(`{"kind":"Agent"}`), "/w"), store.Meta{Created: time.Now()}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func reopen(t *testing.T, root string, opts store.Options) *store.Dir {
	t.Helper()
	d, err := store.Open(root, id, opts)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func message(eventID, parent string) event.Event {
	return event.New(eventID, "2026-08-22T16:34:00.101000", event.SourceUser, parent, &event.Message{
		LLMMessage:      event.LLMMessage{Role: "user", Content: []event.Content{event.Text("hi")}, ThinkingBlocks: []json.RawMessage{}},
		ActivatedSkills: []string{}, ExtendedContent: []event.Content{},
	})
}

func ids(events []event.Event, err error) []string {
	if err != nil {
		return []string{err.Error()}
	}
	out := make([]string, 0, len(events))
	for _, e := range events {
		out = append(out, e.ID)
	}
	return out
}

func TestWhatWasAppendedIsThereAfterAReopen(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	var want []string
	parent := ""
	for range 20 {
		e := message(uuid.New(), parent)
		if err := d.Append(e, true); err != nil {
			t.Fatal(err)
		}
		parent = e.ID
		want = append(want, e.ID)
	}
	// No SaveState: a crash. The head has to be found all the same.
	d = reopen(t, root, us())
	if diff := cmp.Diff(want, ids(d.Events())); diff != "" {
		t.Error(diff)
	}
	if d.Head() != parent {
		t.Errorf("head %q, want %q", d.Head(), parent)
	}
	for range 2 {
		if diff := cmp.Diff(want, ids(d.Branch(d.Head()))); diff != "" {
			t.Error(diff)
		}
		d.Release() // and again from the disk
	}
	if diff := cmp.Diff(want, ids(d.Branch(d.Head()))); diff != "" {
		t.Error(diff)
	}
}

func TestHeadFollowsEventsThatTheStateDoesNotKnow(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	a := message(uuid.New(), "")
	b := message(uuid.New(), a.ID)
	for _, e := range []event.Event{a, b} {
		if err := d.Append(e, true); err != nil {
			t.Fatal(err)
		}
		if e.ID == a.ID {
			d.State.LeafEventID = a.ID
			if err := d.SaveState(true); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := reopen(t, root, us()).Head(); got != b.ID {
		t.Errorf("head %q, want the event appended to it, %q", got, b.ID)
	}
}

func TestOldLogsWithoutParentsAreLinear(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	var want []string
	for range 3 {
		e := message(uuid.New(), "")
		want = append(want, e.ID)
		if err := d.Append(e, true); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, ids(d.Branch(d.Head()))); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownStateAndEventsSurvive(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	file := filepath.Join(d.Path(), "base_state.json")
	stored := `{"id":"` + id + `","agent":{"kind":"Agent","n":1.0},"workspace":{"working_dir":"/w"},"future":{"a":[1,2]},"leaf_event_id":null,"tags":null}`
	if err := os.WriteFile(file, []byte(stored), 0o600); err != nil {
		t.Fatal(err)
	}
	odd := `{"id":"00000000-0000-4000-8000-000000000000","kind":"FutureEvent","source":"agent","timestamp":"x","n":1.0}`
	name := "event-00000-00000000-0000-4000-8000-000000000000.json"
	if err := os.WriteFile(filepath.Join(d.Path(), "events", name), []byte(odd), 0o600); err != nil {
		t.Fatal(err)
	}
	d = reopen(t, root, us())
	if d.State.MaxIterations != 500 || d.State.Status != event.Idle {
		t.Errorf("missing fields have no defaults: %+v", d.State)
	}
	if d.State.Tags == nil {
		t.Error("there is no map for tags")
	}
	events, err := d.Events()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(events[0]); err != nil || string(got) != odd {
		t.Errorf("event %s, %v", got, err)
	}
	if err := d.SaveState(true); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if string(got["future"]) != `{"a":[1,2]}` || string(got["agent"]) != `{"kind":"Agent","n":1.0}` {
		t.Errorf("state %s", data)
	}
	if _, null := got["leaf_event_id"]; null {
		t.Error("an empty field was written")
	}
}

func TestClearedFieldDoesNotComeBack(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	d.State.LastUserMessageID = "x"
	if err := d.SaveState(true); err != nil {
		t.Fatal(err)
	}
	d = reopen(t, root, us())
	d.State.LastUserMessageID = ""
	if err := d.SaveState(true); err != nil {
		t.Fatal(err)
	}
	if got := reopen(t, root, us()).State.LastUserMessageID; got != "" {
		t.Errorf("last_user_message_id %q", got)
	}
}

func TestDamagedDirectories(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		damage func(dir string) error
		want   error
	}{
		{"truncated base state", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "base_state.json"), []byte(`{"id":"7f1`), 0o600)
		}, nil},
		{"truncated base state and no meta.json", func(dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "base_state.json"), []byte(`{"id":"7f1`), 0o600), os.Remove(filepath.Join(dir, "meta.json")))
		}, store.ErrCorrupt},
		{"the state of another conversation", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "base_state.json"), []byte(`{"id":"x"}`), 0o600)
		}, store.ErrCorrupt},
		{"corrupt event", func(dir string) error {
			return errors.Join(
				os.WriteFile(filepath.Join(dir, "events", "event-00000-00000000.json"), []byte(`{`), 0o600),
				os.WriteFile(filepath.Join(dir, "events", "event-00001-00000001.json"), []byte(`{"id":"00000001","kind":"MessageEvent"}`), 0o600),
			)
		}, store.ErrCorrupt},
		{"corrupt last event", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "events", "event-00000-00000000.json"), []byte(`{`), 0o600)
		}, nil},
		{"no state", func(dir string) error { return os.Remove(filepath.Join(dir, "base_state.json")) }, store.ErrNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			d := create(t, root, us())
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if err := tt.damage(d.Path()); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Open(root, id, us()); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// synced notes what is put on the disk.
type synced struct {
	store.Disk
	paths []string
}

func (s *synced) Sync(paths []string) error {
	s.paths = append(s.paths, paths...)
	return s.Disk.Sync(paths)
}

func TestEventTakesTheEndOfTheLogAlong(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	first := message(uuid.New(), "")
	update := event.New(uuid.New(), first.Timestamp, event.SourceEnvironment, first.ID, &event.StateUpdate{Key: "stats", Value: json.RawMessage(`{}`)})
	for _, e := range []event.Event{first, update} {
		if err := d.Append(e, e.ID == first.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	opts, disk := us(), &synced{}
	opts.Files = disk
	d = reopen(t, root, opts)
	if err := d.Append(message(uuid.New(), first.ID), true); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{first.ID, update.ID} {
		if !slices.ContainsFunc(disk.paths, func(path string) bool { return strings.Contains(path, id) }) {
			t.Errorf("event %s may be lost before one that follows it: %q", id, disk.paths)
		}
	}
}

func TestWhatLiesBeyondAGapStaysOutside(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	var all []string
	for range 4 {
		e := message(uuid.New(), "")
		all = append(all, e.ID)
		if err := d.Append(e, true); err != nil {
			t.Fatal(err)
		}
	}
	d.Rest() // a process that dies lets the lock go
	gap := filepath.Join(d.Path(), "events", fmt.Sprintf("event-00001-%s.json", all[1]))
	if err := os.Remove(gap); err != nil {
		t.Fatal(err)
	}
	d = reopen(t, root, us())
	next := message(uuid.New(), "")
	if err := d.Append(next, true); err != nil {
		t.Fatal(err)
	}
	d = reopen(t, root, us())
	if diff := cmp.Diff([]string{all[0], next.ID}, ids(d.Events())); diff != "" {
		t.Error(diff)
	}
	left, err := filepath.Glob(filepath.Join(d.Path(), "events", "*.beyond-gap"))
	if err != nil || len(left) != 2 {
		t.Errorf("set aside: %v, %v", left, err)
	}
}

func TestLease(t *testing.T) {
	t.Parallel()
	now := time.Now()
	them := func(alive bool) store.Options {
		return store.Options{
			Now:    func() time.Time { return now },
			Holder: store.Holder{Instance: "theirs", Host: "h", PID: 2, Alive: func(int) bool { return alive }},
		}
	}
	root := t.TempDir()
	d := create(t, root, us())
	_, err := store.Open(root, id, them(true))
	held, ok := errors.AsType[*store.HeldError](err)
	if !ok || held.PID != 1 {
		t.Fatalf("a live foreign lease gives %v", err)
	}
	if _, err := store.Open(root, id, them(false)); err != nil {
		t.Errorf("the lease of a dead process: %v", err)
	}
	if err := d.KeepLease(); err == nil {
		t.Error("a lease that was taken over was renewed")
	}
	now = now.Add(time.Minute)
	d2, err := store.Open(root, id, store.Options{Now: func() time.Time { return now }, Holder: us().Holder})
	if err != nil {
		t.Fatalf("an expired lease: %v", err)
	}
	if err := d2.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(root, id, them(true)); err != nil {
		t.Errorf("a lease that was given back: %v", err)
	}
}

// full is a disk that becomes full after some writes.
type full struct {
	store.Disk
	left int
}

var errFull = errors.New("no space left on device")

func (f *full) Write(path string, data []byte, sync bool) error {
	if f.left--; f.left < 0 {
		return errFull
	}
	return f.Disk.Write(path, data, sync)
}

// Overwrite makes a file also on a full disk, which has room for a name and not for data.
func (f *full) Overwrite(path string, data []byte) error {
	if f.left--; f.left < 0 {
		return errors.Join(errFull, f.Disk.Overwrite(path, nil))
	}
	return f.Disk.Overwrite(path, data)
}

func TestFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	for room := range 12 {
		root := t.TempDir()
		opts := us()
		opts.Files = &full{left: room}
		d, err := store.Create(root, store.NewState(id, json.RawMessage(`{}`), "/w"), store.Meta{}, opts)
		if err != nil {
			if !errors.Is(err, errFull) {
				t.Fatal(err)
			}
			if _, err := os.Stat(store.Path(root, id)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("half a conversation is left: %v", err)
			}
			continue
		}
		var kept []string
		for range 5 {
			e := message(uuid.New(), "")
			if err := d.Append(e, true); err != nil {
				break
			}
			kept = append(kept, e.ID)
		}
		if got := ids(reopen(t, root, us()).Events()); len(kept) > 0 && !cmp.Equal(kept, got) {
			t.Errorf("room for %d: kept %v, found %v", room, kept, got)
		}
	}
}

// A process that died while it made a conversation leaves a directory without a base
// state. Its id can be used, unless a process that lives makes the conversation now.
func TestCreateReplacesWhatACrashLeft(t *testing.T) {
	t.Parallel()
	const lease = `{"owner_instance_id":"cccccccccccccccccccccccccccccccc","generation":3,"expires_at":4102444800,"owner_host":"host","owner_pid":7}`
	for name, tt := range map[string]struct {
		files map[string]string
		alive bool
		want  error
	}{
		"an empty directory":            {nil, false, nil},
		"the lock of its lease":         {map[string]string{".owner_lease.lock": ""}, false, nil},
		"a lease that was cut off":      {map[string]string{".ohgw-owner_lease.json.tmp": "{", "owner_lease.json": "{"}, false, nil},
		"events of half a copy":         {map[string]string{".ohgw-partial": "", "owner_lease.json": lease, "meta.json": "{}", "events/event-00000-x.json": "{"}, false, nil},
		"half a removal":                {map[string]string{"owner_lease.json": lease, "meta.json": "{}", ".ohgw-removed": ""}, false, nil},
		"what lost its state":           {map[string]string{"meta.json": "{}", "events/event-00000-x.json": "{}"}, false, store.ErrCorrupt},
		"what lost all but an event":    {map[string]string{"events/event-00007-y.json": "{"}, false, store.ErrCorrupt},
		"events that were set aside":    {map[string]string{"events/event-00007-y.json.damaged": "{"}, false, store.ErrCorrupt},
		"a state that was cut off":      {map[string]string{"owner_lease.json": lease, ".ohgw-base_state.json.tmp": "{"}, false, nil},
		"what a living process has now": {map[string]string{"owner_lease.json": lease, "meta.json": "{}"}, true, store.ErrExists},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			dir := store.Path(root, id)
			if err := os.MkdirAll(filepath.Join(dir, "events"), 0o700); err != nil {
				t.Fatal(err)
			}
			if tt.files == nil {
				if err := os.Remove(filepath.Join(dir, "events")); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			opts := us()
			opts.Holder.Host, opts.Holder.Alive = "host", func(int) bool { return tt.alive }
			d, err := store.Create(root, store.NewState(id, json.RawMessage(`{}`), "/w"), store.Meta{}, opts)
			if !errors.Is(err, tt.want) {
				t.Fatalf("Create: %v, want %v", err, tt.want)
			}
			if err != nil {
				for name, text := range tt.files {
					if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != text {
						t.Errorf("%s is %q, %v", name, data, err)
					}
				}
				return
			}
			if err := errors.Join(d.Append(message(uuid.New(), ""), true), d.Close()); err != nil {
				t.Fatal(err)
			}
			if log := ids(reopen(t, root, opts).Events()); len(log) != 1 {
				t.Errorf("the log is %v, want one event", log)
			}
		})
	}
}

func TestCreateRefusesWhatIsThere(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	create(t, root, us())
	_, err := store.Create(root, store.NewState(id, nil, "/w"), store.Meta{}, us())
	if !errors.Is(err, store.ErrExists) {
		t.Errorf("error %v", err)
	}
	if d := reopen(t, root, us()); d.State.Workspace.WorkingDir != "/w" {
		t.Error("the conversation that was there is gone")
	}
}

func TestHalfARemovalIsFinished(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	if err := os.Remove(filepath.Join(d.Path(), "base_state.json")); err != nil {
		t.Fatal(err)
	}
	them := us()
	them.Holder.Instance, them.Holder.PID = "theirs", 2
	if _, held := errors.AsType[*store.HeldError](store.Remove(root, id, them)); !held {
		t.Error("what another process makes or removes is not left to it")
	}
	for range 2 {
		if err := store.Remove(root, id, us()); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("error %v", err)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"id":"`+id+`"}`), []byte(`{"id":"e","kind":"MessageEvent"}`))
	f.Fuzz(func(t *testing.T, state, ev []byte) {
		root := t.TempDir()
		d := create(t, root, us())
		if err := errors.Join(
			os.WriteFile(filepath.Join(d.Path(), "base_state.json"), state, 0o600),
			os.WriteFile(filepath.Join(d.Path(), "events", "event-00000-00000000.json"), ev, 0o600),
		); err != nil {
			t.Fatal(err)
		}
		d, err := store.Open(root, id, us())
		if err != nil {
			return
		}
		_, _ = d.Branch(d.Head()) // must not fail badly
		if err := d.SaveState(true); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(root, id, us()); err != nil {
			t.Fatalf("what was saved cannot be opened: %v", err)
		}
	})
}

func TestReleasedLogIsOnTheDiskOnly(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	var want []string
	for range 3 {
		e := message(uuid.New(), d.Head())
		want = append(want, e.ID)
		if err := d.Append(e, false); err != nil {
			t.Fatal(err)
		}
		d.State.LeafEventID = e.ID
	}
	if err := errors.Join(d.SaveState(true), d.Close()); err != nil {
		t.Fatal(err)
	}
	d = reopen(t, root, us())
	events, err := d.Events()
	if err != nil {
		t.Fatal(err)
	}
	body := weak.Make(events[0].Body.(*event.Message))
	d.Release()
	runtime.GC()
	if body.Value() != nil {
		t.Error("an event of the log is still in memory")
	}
	if diff := cmp.Diff(want, ids(d.Events())); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	var got []string
	for log := d.From(1); ; {
		e, rest, ok, err := log.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got, log = append(got, e.ID), rest
	}
	if diff := cmp.Diff(want[1:], got); diff != "" {
		t.Errorf("read one by one (-want +got):\n%s", diff)
	}
	if _, ok := d.After("nobody"); ok {
		t.Error("there is a log behind an event that is not there")
	}
}
