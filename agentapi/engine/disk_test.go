package engine_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// countingDisk notes which files were put on the disk, in which go.
type countingDisk struct {
	enginetest.Disk
	mu     sync.Mutex
	syncs  [][]string
	writes []string // names of files
}

func (d *countingDisk) Write(path string, data []byte, sync bool) error {
	d.mu.Lock()
	d.writes = append(d.writes, filepath.Base(path))
	d.mu.Unlock()
	if sync {
		d.note([]string{path, filepath.Dir(path)})
	}
	return d.Disk.Write(path, data, sync)
}

func (d *countingDisk) Overwrite(path string, data []byte) error {
	d.mu.Lock()
	d.writes = append(d.writes, filepath.Base(path))
	d.mu.Unlock()
	return d.Disk.Overwrite(path, data)
}

func (d *countingDisk) Sync(paths []string) error {
	d.note(paths)
	return d.Disk.Sync(paths)
}

func (d *countingDisk) WriteAt(path string, data []byte, at int64) error {
	d.note([]string{path})
	return d.Disk.WriteAt(path, data, at)
}

func (d *countingDisk) note(paths []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncs = append(d.syncs, slices.Clone(paths))
}

func (d *countingDisk) take() [][]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	syncs := d.syncs
	d.syncs = nil
	return syncs
}

// TestATurnAsksTheDiskTwice says what a turn of an open conversation puts on the disk: the
// message before it is acted on, and the answer before it is told, each with what was written
// before. The state and meta.json follow once the conversation rests, of which one is always
// there. A new conversation, and one that was found, has what its first message stands on put
// on the disk with it.
func TestATurnAsksTheDiskTwice(t *testing.T) {
	t.Parallel()
	if !store.Journals {
		t.Skip("the system has no journal")
	}
	disk := &countingDisk{}
	w := newWorld(t, func(c *engine.Config) { c.Files = disk })
	w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("three"))
	journal := filepath.Join(w.cfg.Dir, ".ohgw-journal")
	turn := func(first int) {
		t.Helper()
		w.say("hi")
		var rest [][]string
		for i, paths := range disk.take() {
			switch {
			case slices.ContainsFunc(paths, func(path string) bool {
				return strings.HasSuffix(path, "base_state.json") || strings.HasSuffix(path, "meta.json")
			}) && i > 0:
				continue // the machine was so busy that the conversation has rested already
			case len(rest) == 0 && first > 0 && len(paths) <= first:
				// Other conversations change the root, too: asked for after the others,
				// it would wait for a commit of theirs.
				if slices.Contains(paths, w.cfg.Dir) && paths[0] != w.cfg.Dir {
					t.Errorf("the root is not the first of %q", paths)
				}
			case len(paths) != 1 || filepath.Dir(paths[0]) != journal:
				if paths[0] == journal { // once for each journal
					continue
				}
				t.Errorf("go %d asks for %q, want the journal", i, paths)
			}
			rest = append(rest, paths)
		}
		if len(rest) != 2 {
			t.Errorf("the disk is asked %d times: %q", len(rest), rest)
		}
	}
	w.open()
	turn(7) // root, directory, state, meta, prompt, message, names
	turn(0)
	w.close() // asks for the state and for the files of the events, unless that is done
	all := strings.Join(slices.Concat(disk.take()...), " ")
	for _, name := range []string{"base_state.json", "meta.json", w.dir(), filepath.Join(w.dir(), "events"), "event-00008-"} {
		if !strings.Contains(all, name) {
			t.Errorf("%s is not put on the disk", name)
		}
	}
	if left, err := filepath.Glob(filepath.Join(journal, "*.log")); err != nil || len(left) != 0 {
		t.Errorf("journals after the end: %q, %v", left, err)
	}
	if again := disk.take(); len(again) != 0 {
		t.Errorf("closing twice asks the disk: %q", again)
	}
	w.start()
	turn(5) // the end of the log as it was found, message, names
}

// TestTurnThatIsRemovedWritesEachFileOnce says what a short one-shot writes:
// each file is one to make and one to delete. It is not closed before its
// removal, so nothing is written or put on the disk for that.
func TestTurnThatIsRemovedWritesEachFileOnce(t *testing.T) {
	t.Parallel()
	disk := &countingDisk{}
	w := newWorld(t, func(c *engine.Config) { c.Files = disk })
	w.llm.Reply(llmtest.Text("one"))
	w.open()
	w.say("hi")
	if err := w.backend.Remove(w.ctx(), w.id); err != nil {
		t.Fatal(err)
	}
	// On a busy machine the run may have been over for long enough to ask once more.
	syncs := disk.take()
	settled := len(syncs) - 2 // the message, the answer
	if store.Journals {
		settled-- // the name of the journal
	}
	if settled != 0 && settled != 1 {
		t.Errorf("the disk is asked %d times: %q", len(syncs), syncs)
	}
	written := make(map[string]int)
	for _, name := range disk.writes {
		if kind, _, event := strings.Cut(name, "-"); event {
			name = kind
		}
		written[name]++
	}
	want := map[string]int{"meta.json": 1 + settled, "owner_lease.json": 1, "base_state.json": 2, "event": 6}
	if diff := cmp.Diff(want, written); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestAOneShotMakesFewFiles counts the files that a one-shot makes, and those that another one
// takes the place of: a file system has to find room for each of them.
func TestAOneShotMakesFewFiles(t *testing.T) {
	t.Parallel()
	disk := &countingDisk{}
	w := newWorld(t, func(c *engine.Config) { c.Files = disk })
	w.llm.Reply(llmtest.Text("one"))
	w.promised(w.unkept(), "hi")
	w.close()
	written := make(map[string]int)
	for _, name := range disk.writes {
		if kind, _, event := strings.Cut(name, "-"); event {
			name = kind
		}
		written[name]++
	}
	if want := map[string]int{"meta.json": 1, "owner_lease.json": 2, "base_state.json": 2, "event": 6}; !cmp.Equal(want, written) {
		t.Errorf("writes of files (-want +got):\n%s", cmp.Diff(want, written))
	}
	locks, files := 2, 0
	if err := filepath.WalkDir(w.dir(), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	calls, unkept := 1, 1 // The mark of an unkept conversation is another name of a lock.
	if want := locks + calls + unkept + 9; files != want {
		t.Errorf("the conversation has %d files, want %d", files, want)
	}
}
