package store_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/store/journal"
	"github.com/ohgw/ohgw/internal/uuid"
)

// journaled are options with a journal, whose process is killed: it stays.
func journaled(t *testing.T, root string) store.Options {
	t.Helper()
	if !store.Journals {
		t.Skip("the system has no journal")
	}
	opts := us()
	opts.Journal = openJournal(root, opts)
	return opts
}

func openJournal(root string, opts store.Options) *journal.Journal {
	return journal.Open(journal.Config{
		Dir: root, Disk: store.Disk{}, Now: time.Now, Restore: store.Restorer(root, opts), Log: slog.New(slog.DiscardHandler),
	})
}

// left makes the journals in a directory those of a process that is dead.
func left(t *testing.T, root string) {
	t.Helper()
	dir := filepath.Join(root, journal.Dir)
	names, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(names) == 0 {
		t.Fatalf("journals %q, %v", names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(name), os.WriteFile(name, data, 0o600)); err != nil { // another file, without the lock
			t.Fatal(err)
		}
	}
}

// logOf is a conversation with three messages, the last two of which are in the journal, too.
func logOf(t *testing.T, root string, opts store.Options) (d *store.Dir, sent []string) {
	t.Helper()
	d = create(t, root, opts)
	for range 3 {
		e := message(uuid.New(), "")
		if err := d.Append(e, true); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, e.ID)
	}
	d.Rest()
	return d, sent
}

func eventPath(t *testing.T, d *store.Dir, id string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(d.Path(), "events", "event-*-"+id+".json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("events %q, %v", found, err)
	}
	return found[0]
}

// next is a process that is started behind the one that has died, on another machine or on
// this one.
func next() store.Options {
	opts := us()
	opts.Holder = store.Holder{Instance: "next", Host: "h", PID: 2, Alive: func(int) bool { return false }}
	return opts
}

func TestEventsThatADiskHasLostAreRestored(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(path string) error{
		"whole": func(string) error { return nil },
		"gone":  os.Remove,
		"empty": func(path string) error { return os.Truncate(path, 0) },
		"torn":  func(path string) error { return os.Truncate(path, 30) },
	} {
		root := t.TempDir()
		d, sent := logOf(t, root, journaled(t, root))
		for _, id := range sent[1:] {
			if err := lose(eventPath(t, d, id)); err != nil {
				t.Fatal(err)
			}
		}
		left(t, root)
		openJournal(root, next())
		if got := ids(reopen(t, root, next()).Events()); !slices.Equal(got, sent) {
			t.Errorf("%s: the log has %q, want %q", name, got, sent)
		}
	}
}

// Another program has opened the conversation before, and has written behind what it saw.
func TestALogThatHasGoneOnIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, sent := logOf(t, root, journaled(t, root))
	for _, id := range sent[1:] {
		if err := os.Remove(eventPath(t, d, id)); err != nil {
			t.Fatal(err)
		}
	}
	left(t, root)
	other := reopen(t, root, next())
	theirs := message(uuid.New(), "")
	if err := errors.Join(other.Append(theirs, true), other.Close()); err != nil {
		t.Fatal(err)
	}
	openJournal(root, next())
	want := []string{sent[0], theirs.ID}
	if got := ids(reopen(t, root, next()).Events()); !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
}

func TestAConversationThatAnotherProcessHasIsRestoredLater(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, sent := logOf(t, root, journaled(t, root))
	if err := os.Remove(eventPath(t, d, sent[2])); err != nil {
		t.Fatal(err)
	}
	left(t, root)
	early := next()
	early.Holder.Alive = func(int) bool { return true } // the process that has the conversation lives
	was := openJournal(root, early)
	if found, err := filepath.Glob(filepath.Join(d.Path(), "events", "*"+sent[2]+"*")); err != nil || len(found) != 0 {
		t.Errorf("an event is written into the conversation of another process: %q, %v", found, err)
	}
	if err := was.Close(); err != nil {
		t.Error(err)
	}
	openJournal(root, next())
	if got := ids(reopen(t, root, next()).Events()); !slices.Equal(got, sent) {
		t.Errorf("the log has %q, want %q", got, sent)
	}
}

// A log without its end is not opened: what is written behind it would take the place of what
// the journal has.
func TestAConversationIsNotOpenedBeforeItIsRestored(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, sent := logOf(t, root, journaled(t, root))
	if err := os.Remove(eventPath(t, d, sent[2])); err != nil {
		t.Fatal(err)
	}
	left(t, root)
	full := &fullDisk{full: true}
	opts := next()
	opts.Files = full
	opts.Journal = openJournal(root, opts)
	for range 2 {
		if _, err := store.Open(root, d.State.ID, opts); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("open: %v, want an error of the full disk", err)
		}
	}
	full.full = false
	if got := ids(reopen(t, root, opts).Events()); !slices.Equal(got, sent) {
		t.Errorf("the log has %q, want %q", got, sent)
	}
}

// fullDisk is a disk that takes no new event.
type fullDisk struct {
	store.Disk

	full bool
}

func (d *fullDisk) Write(path string, data []byte, sync bool) error {
	if d.full {
		return syscall.ENOSPC
	}
	return d.Disk.Write(path, data, sync)
}

func TestAConversationThatWasRemovedStaysSo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, _ := logOf(t, root, journaled(t, root))
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	left(t, root)
	openJournal(root, next())
	if _, err := os.Stat(d.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of the conversation: %v", err)
	}
}

// A conversation that is made with the ID of one that was removed has its own events.
func TestAConversationThatIsMadeAgainHasItsOwnEvents(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	opts := journaled(t, root)
	d, _ := logOf(t, root, opts)
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	d = create(t, root, opts)
	e := message(uuid.New(), "")
	if err := d.Append(e, true); err != nil {
		t.Fatal(err)
	}
	d.Rest()
	left(t, root)
	openJournal(root, next())
	if got := ids(reopen(t, root, next()).Events()); !slices.Equal(got, []string{e.ID}) {
		t.Errorf("the log has %q, want %q", got, e.ID)
	}
}
