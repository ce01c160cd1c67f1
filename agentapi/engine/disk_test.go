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

// TestTurnAsksTheDiskFourTimes says what a turn puts on the disk: the message
// with all that it stands on before it is acted on, the answer before it is
// told, and in the end the state and meta.json, of which one is always there.
func TestTurnAsksTheDiskFourTimes(t *testing.T) {
	t.Parallel()
	disk := &countingDisk{}
	w := newWorld(t, func(c *engine.Config) { c.Files = disk })
	w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
	turn := func(want ...int) {
		t.Helper()
		w.say("hi")
		w.close() // asks for the state, unless that is done
		syncs := disk.take()
		if len(syncs) != len(want) {
			t.Fatalf("the disk is asked %d times: %q", len(syncs), syncs)
		}
		// Other conversations change the root, too: asked for after the others,
		// it would wait for a commit of theirs.
		if root := filepath.Dir(w.dir()); slices.Contains(syncs[0], root) && syncs[0][0] != root {
			t.Errorf("the root is not the first of %q", syncs[0])
		}
		for i, paths := range syncs {
			if len(paths) > want[i] {
				t.Errorf("go %d has %d files, want at most %d: %q", i, len(paths), want[i], paths)
			}
		}
		all := strings.Join(slices.Concat(syncs...), " ")
		for _, name := range []string{"base_state.json", "meta.json", w.dir(), filepath.Join(w.dir(), "events")} {
			if !strings.Contains(all, name) {
				t.Errorf("%s is not put on the disk", name)
			}
		}
	}
	w.open()
	turn(7, 3, 2, 2) // root, directory, state, meta, prompt, message, names; status, answer, names; state, names; meta, names
	if first := disk.take(); len(first) != 0 {
		t.Errorf("closing twice asks the disk: %q", first)
	}
	w.start()
	turn(5, 3, 2, 2) // the end of the log as it was found, message, names
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
