package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/store/journal"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// disk is one that can fail and wait, and counts.
type disk struct {
	mu     sync.Mutex
	writes int
	alls   int           // calls of SyncAll
	synced []string      // paths
	fails  error         // of all
	gate   chan struct{} // a write waits for it; nil: it does not
}

func (d *disk) MkdirAll(path string) error { return os.MkdirAll(path, 0o700) }

func (d *disk) WriteAt(path string, data []byte, at int64) error {
	d.mu.Lock()
	d.writes++
	gate, err := d.gate, d.fails
	d.mu.Unlock()
	if gate != nil {
		<-gate
	}
	f, opened := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if opened != nil {
		return opened
	}
	if err != nil {
		data = data[:10]
	}
	_, wrote := f.WriteAt(data, at)
	return errors.Join(err, wrote, f.Close())
}

func (d *disk) Sync(paths []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced = append(d.synced, paths...)
	return d.fails
}

func (d *disk) SyncAll(string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.alls++
	return d.fails
}

func (d *disk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails = err
}

// process is one that writes a journal into a directory.
type process struct {
	*journal.Journal

	disk     *disk
	log      *bytes.Buffer
	restored map[string]string // events of conversations, one after the other
	refuses  error             // what restoring returns
}

func start(dir string, refuses error) *process {
	p := &process{disk: &disk{}, log: &bytes.Buffer{}, restored: map[string]string{}, refuses: refuses}
	p.Journal = journal.Open(journal.Config{
		Dir: dir, Disk: p.disk, Now: time.Now, Log: slog.New(slog.NewTextHandler(p.log, nil)),
		Restore: func(conversation string, records []journal.Record) error {
			for _, r := range records {
				p.restored[conversation] += r.Event + "=" + string(r.Data) + " "
			}
			return p.refuses
		},
	})
	return p
}

func keep(t *testing.T, j *journal.Journal, conversation string, events ...string) {
	t.Helper()
	var records []journal.Record
	for _, e := range events {
		records = append(records, journal.Record{Conversation: conversation, Event: e + ".json", Data: []byte("data of " + e)})
	}
	if err := j.Keep(records...); err != nil {
		t.Fatal(err)
	}
}

// copyOf copies the journals of a directory as they are, which is what a process leaves that
// is killed.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func logs(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, journal.Dir, "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestWhatAProcessLeavesIsRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(dir, nil)
	keep(t, p.Journal, "a", "1", "2")
	keep(t, p.Journal, "b/sub", "1")
	keep(t, p.Journal, "a", "3")
	left := copyOf(t, dir)
	next := start(left, nil)
	want := map[string]string{"a": "1.json=data of 1 2.json=data of 2 3.json=data of 3 ", "b/sub": "1.json=data of 1 "}
	if diff := cmp.Diff(want, next.restored); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	if third := start(left, nil); len(third.restored) != 0 {
		t.Errorf("another process restores %v, too", third.restored)
	}
	if err := next.Close(); err != nil || len(logs(t, left)) != 0 {
		t.Errorf("close: %v, with %q left", err, logs(t, left))
	}
	if err := p.Close(); err != nil || len(logs(t, dir)) != 0 {
		t.Errorf("close: %v, with %q left", err, logs(t, dir))
	}
	if after := start(left, nil); len(after.restored) != 0 {
		t.Errorf("restored once more: %v", after.restored)
	}
}

func TestTheJournalOfAProcessThatLivesIsItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(dir, nil)
	keep(t, p.Journal, "a", "1")
	next := start(dir, nil)
	if len(next.restored) != 0 {
		t.Errorf("restored %v", next.restored)
	}
	if err := next.Close(); err != nil || len(logs(t, dir)) != 1 {
		t.Errorf("close: %v, with the journals %q, want the one of the other process", err, logs(t, dir))
	}
}

func TestARecordThatIsNotWholeIsTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(dir, nil)
	keep(t, p.Journal, "a", "1", "2")
	data, err := os.ReadFile(logs(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.Index(data, []byte("data of 2")) + len("data of 2")
	for at := range end + 1 {
		for _, rest := range [][]byte{nil, make([]byte, 100), bytes.Repeat([]byte{0xff}, 100)} {
			left := copyOf(t, dir)
			if err := os.WriteFile(logs(t, left)[0], append(bytes.Clone(data[:at]), rest...), 0o600); err != nil {
				t.Fatal(err)
			}
			got, want := start(left, nil).restored["a"], ""
			if at > bytes.Index(data, []byte("data of 1"))+len("data of 1")-1 {
				want = "1.json=data of 1 "
			}
			if at == end {
				want += "2.json=data of 2 "
			}
			if got != want {
				t.Fatalf("cut at %d of %d: restored %q, want %q", at, end, got, want)
			}
		}
	}
}

func TestWhatCannotBeRestoredStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keep(t, start(dir, nil).Journal, "a", "1")
	left := copyOf(t, dir)
	p := start(left, errors.New("another process has it"))
	if !strings.Contains(p.log.String(), "another process has it") {
		t.Errorf("log %q", p.log)
	}
	if err := p.Close(); err != nil || len(logs(t, left)) != 1 {
		t.Errorf("close: %v, with %q left", err, logs(t, left))
	}
	if next := start(left, nil); next.restored["a"] == "" {
		t.Error("the next process restores nothing")
	}
}

// What could not be restored is restored before its conversation is opened. The journal is
// removed when nothing of it is left.
func TestWhatCouldNotBeRestoredIsRestoredLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(dir, nil)
	keep(t, first.Journal, "a", "1")
	keep(t, first.Journal, "b/subagents/c", "2")
	left := copyOf(t, dir)
	p := start(left, errors.New("the disk is full"))
	for _, name := range []string{"a", "b/subagents/c"} {
		if err := p.Restored(filepath.Join(left, name)); err == nil || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := p.Restored(filepath.Join(left, "b")); err != nil {
		t.Errorf("one that the journal does not have: %v", err)
	}
	p.refuses = nil
	for _, name := range []string{"a", "b/subagents/c", "a"} {
		p.restored[name] = ""
		if err := p.Restored(filepath.Join(left, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p.restored["b/subagents/c"] == "" || p.restored["a"] != "" {
		t.Errorf("restored %q, want each once", p.restored)
	}
	if err := p.Close(); err != nil || len(logs(t, left)) != 0 {
		t.Errorf("close: %v, with %q left", err, logs(t, left))
	}
}

// A conversation that is made again is not restored, also by a process after this one, for
// which the journal stays.
func TestANewConversationIsNotRestoredLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(dir, nil)
	keep(t, first.Journal, "a", "1")
	keep(t, first.Journal, "b", "2")
	left := copyOf(t, dir)
	p := start(left, errors.New("the disk is full"))
	if err := p.Forget(filepath.Join(left, "a")); err != nil {
		t.Fatal(err)
	}
	if err := p.Restored(filepath.Join(left, "a")); err != nil {
		t.Errorf("the new one: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	next := start(left, nil)
	if next.restored["a"] != "" || next.restored["b"] == "" {
		t.Errorf("restored %q, want those of b alone", next.restored)
	}
}

func TestANewConversationForgetsAnOlderOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(dir, nil)
	keep(t, p.Journal, "a", "1")
	keep(t, p.Journal, "a/sub", "1")
	keep(t, p.Journal, "ab", "1")
	if err := errors.Join(p.Forget(filepath.Join(dir, "a")), p.Forget(filepath.Join(dir, "unknown"))); err != nil {
		t.Fatal(err)
	}
	if p.disk.writes != 4 {
		t.Errorf("%d writes, want 4: an unknown conversation takes none", p.disk.writes)
	}
	keep(t, p.Journal, "a", "2")
	want := map[string]string{"a": "2.json=data of 2 ", "ab": "1.json=data of 1 "}
	if diff := cmp.Diff(want, start(copyOf(t, dir), nil).restored); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
}

// One write takes all that comes while another one waits for the disk.
func TestManyTakeOneWrite(t *testing.T) {
	t.Parallel()
	const n = 20
	dir := t.TempDir()
	p := start(dir, nil)
	p.disk.gate = make(chan struct{})
	var all sync.WaitGroup
	errs := make([]error, n+1)
	kept := func(i int) {
		errs[i] = p.Keep(journal.Record{Conversation: fmt.Sprintf("c%02d", i), Event: "1.json", Data: []byte("x")})
	}
	all.Go(func() { kept(0) })
	waittest.Until(t, waittest.Patience, "the first write", func() (any, bool) {
		p.disk.mu.Lock()
		defer p.disk.mu.Unlock()
		return p.disk.writes, p.disk.writes == 1
	})
	for i := range n {
		all.Go(func() { kept(i + 1) })
	}
	waittest.Until(t, waittest.Patience, "the others", func() (any, bool) { return p.Joined(), p.Joined() == n })
	close(p.disk.gate)
	all.Wait()
	if err := errors.Join(errs...); err != nil || p.disk.writes != 2 {
		t.Errorf("%d writes, %v, want 2", p.disk.writes, err)
	}
	if got := start(copyOf(t, dir), nil).restored; len(got) != n+1 {
		t.Errorf("%d conversations are restored, want %d", len(got), n+1)
	}
}

func TestAJournalThatFailedTakesNoMore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(dir, nil)
	keep(t, p.Journal, "a", "1")
	broken := errors.New("no space")
	p.disk.fail(broken)
	if err := p.Keep(journal.Record{Conversation: "a", Event: "2.json"}); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the disk", err)
	}
	if err := p.Checkpoint(); !errors.Is(err, broken) || len(logs(t, dir)) != 1 {
		t.Errorf("checkpoint: %v, with %q", err, logs(t, dir))
	}
	p.disk.fail(nil)
	keep(t, p.Journal, "a", "3")
	if n := len(logs(t, dir)); n != 2 {
		t.Errorf("%d journals, want another one", n)
	}
	if got, want := start(copyOf(t, dir), nil).restored["a"], "1.json=data of 1 3.json=data of 3 "; got != want {
		t.Errorf("restored %q, want %q", got, want)
	}
	if err := p.Checkpoint(); err != nil || len(logs(t, dir)) != 0 || p.disk.alls != 2 {
		t.Errorf("checkpoint: %v, with %q, after %d calls", err, logs(t, dir), p.disk.alls)
	}
	if err := p.Checkpoint(); err != nil || p.disk.alls != 2 {
		t.Errorf("checkpoint of nothing: %v, after %d calls", err, p.disk.alls)
	}
}

func TestAJournalThatIsLargeIsRemovedSoon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(dir, nil)
	if err := p.Keep(journal.Record{Conversation: "a", Event: "1.json", Data: make([]byte, 9<<20)}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, waittest.Patience, "the journal is removed", func() (any, bool) { return logs(t, dir), len(logs(t, dir)) == 0 })
}

// A process that ends puts a few files on the disk by their names, and many at once.
func TestCloseLeavesNoJournal(t *testing.T) {
	t.Parallel()
	for n, alls := range map[int]int{3: 0, 65: 1} {
		dir := t.TempDir()
		p := start(dir, nil)
		events := filepath.Join(dir, "a", "events")
		if err := os.MkdirAll(events, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			name := fmt.Sprintf("%02d", i)
			if err := os.WriteFile(filepath.Join(events, name+".json"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			keep(t, p.Journal, "a", name)
		}
		keep(t, p.Journal, "removed", "1")
		p.disk.synced = nil
		if err := p.Close(); err != nil || len(logs(t, dir)) != 0 || p.disk.alls != alls {
			t.Errorf("%d events: %v, %d calls for all", n, err, p.disk.alls)
		}
		if alls == 0 && len(p.disk.synced) != n+1 {
			t.Errorf("%d events: %q, want their files and their directory", n, p.disk.synced)
		}
		if err := p.Keep(journal.Record{Conversation: "a", Event: "x.json"}); err == nil {
			t.Error("a closed journal keeps an event")
		}
	}
}

func TestNoJournalKeepsNothing(t *testing.T) {
	t.Parallel()
	var j *journal.Journal
	if _, ok := j.Name("/x"); ok || j.Forget("/x") != nil || j.Close() != nil {
		t.Error("a journal that is not there does something")
	}
	dir := t.TempDir()
	p := start(dir, nil)
	for _, outside := range []string{dir, filepath.Dir(dir), t.TempDir()} {
		if name, ok := p.Name(outside); ok {
			t.Errorf("%s is the conversation %q", outside, name)
		}
	}
}

// FuzzRestore has a journal with any content.
func FuzzRestore(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 64))
	f.Add([]byte("\x06\x00\x00\x00\xff\xff\xff\xffa\n1\nxy"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, journal.Dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, journal.Dir, "1.log"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		for conversation := range start(dir, nil).restored {
			if !filepath.IsLocal(conversation) {
				t.Errorf("restores %q", conversation)
			}
		}
	})
}
