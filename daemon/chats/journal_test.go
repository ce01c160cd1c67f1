package chats

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/openai"
)

// talker is a chat window.
type talker struct {
	t     testing.TB
	r     *Registry
	id    ID
	shows []openai.Turn
	kind  string
	line  string
	conv  string
}

func open(t testing.TB, dir string, now func() time.Time) *Registry {
	t.Helper()
	r := Open(Config{StateDir: dir, Now: now, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(r.Close)
	return r
}

// newTalker is a window of a chat that no other window has.
func newTalker(t testing.TB, dir string, now func() time.Time) *talker {
	t.Helper()
	return &talker{t: t, r: open(t, dir, now), id: chatNamed("c", false)}
}

// admit decides for a request, which has a run of its own or has none.
func admit(r *Registry, req Request, started bool) (*Visit, error) {
	v, err := r.Enter(req)
	if err != nil {
		return nil, err
	}
	v.Settle(started)
	return v, nil
}

func (w *talker) say(text, answer string) {
	w.t.Helper()
	v, err := admit(w.r, Request{ID: w.id, History: w.shows, Text: text}, true)
	if err != nil {
		w.t.Fatal(err)
	}
	defer v.Close()
	_, w.kind, w.line = v.Compose(agentapi.Info{Created: v.Planned() != "continued", Workspace: "/w"}, v.From != "")
	v.Begin(turn.Baseline{After: fmt.Sprint("e-", len(w.shows))})
	v.Show(answer)
	v.End(true, answer == "")
	v.Shown(v.Conversation)
	w.conv = v.Conversation
	w.shows = append(w.shows, openai.Turn{Role: "user", Text: text})
	if answer != "" {
		w.shows = append(w.shows, openai.Turn{Role: "assistant", Text: answer})
	}
}

// clock is a time that goes on when it is asked for.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.pass(1_790_000_000 * time.Second)
	return c
}

func (c *clock) pass(d time.Duration) { c.ns.Add(int64(d)) }

func (c *clock) now() time.Time { return time.Unix(0, c.ns.Add(int64(time.Second))).UTC() }

func chatNamed(value string, shared bool) ID {
	return ID{Token: "t", Model: "m", Source: "x-chat-id", Value: value, Rules: Rules{Whole: true, Shared: shared}}
}

// onDisk is what another process would know of a chat.
func onDisk(t testing.TB, r *Registry, id ID) record {
	t.Helper()
	rec, _, err := r.store.load(id.Key())
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// What is in memory is on the disk, whatever has been said and taken back.
func TestTheDiskKnowsWhatMemoryKnows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, clock := t.TempDir(), newClock()
		w := &talker{t: t, r: open(t, dir, clock.now), id: chatNamed("c", rapid.Bool().Draw(rt, "shared"))}
		for i := range rapid.IntRange(1, 30).Draw(rt, "messages") {
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0: // back to an earlier message, or to the beginning
				w.shows = slices.Clone(w.shows[:2*rapid.IntRange(0, len(w.shows)/2).Draw(rt, "back to")])
			case 1: // the gateway starts again
				w.r = open(t, dir, clock.now)
			}
			w.say(fmt.Sprint("message ", rapid.IntRange(0, 5).Draw(rt, "words"), i), rapid.SampledFrom([]string{"", "ok", fmt.Sprint(i, ": an answer that is long enough to be known again")}).Draw(rt, "answer"))
		}
		c := w.r.acquire(w.id.Key())
		want := record{Version: recordVersion, Whole: c.Whole, Gone: c.Gone}
		for _, b := range c.Branches {
			sure := *b
			sure.Turns = b.certain()
			want.Branches = append(want.Branches, &sure)
		}
		if diff := cmp.Diff(want, onDisk(t, w.r, w.id), cmp.AllowUnexported(record{}, branch{}), cmpopts.IgnoreUnexported(Turn{}), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("in memory -, on disk +:\n%s", diff)
		}
	})
}

// longChat are 8 branches of 1000 turns.
func longChat() record {
	r := record{Version: recordVersion, Whole: true}
	for b := range 8 {
		br := &branch{Conversation: fmt.Sprintf("0198c9d2-f0a5-4b1c-8e3d-%012d", b), Workspace: "/w", Used: time.Unix(1_790_000_000, 0).UTC()}
		for i := range 1000 {
			who := fmt.Sprint(b, " ", i)
			br.Turns = append(br.Turns, Turn{User: Of("asks " + who), Answers: []Digest{Of("is answered " + who)}, After: "0198c9d2-f0a5-4b1c-8e3d-000000000000"})
		}
		r.Branches = append(r.Branches, br)
	}
	return r
}

// longTalk is the window of the last branch of a long chat, which is on the disk.
func longTalk(t testing.TB, dir string) *talker {
	t.Helper()
	w := newTalker(t, dir, time.Now)
	if err := w.r.store.rewrite(&chat{key: w.id.Key(), record: longChat()}); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		who := fmt.Sprint(7, " ", i)
		w.shows = append(w.shows, openai.Turn{Role: "user", Text: "asks " + who}, openai.Turn{Role: "assistant", Text: "is answered " + who})
	}
	return w
}

// A message of a long chat writes no more than one of a short chat.
func TestAMessageWritesLittle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := longTalk(t, dir)
	size := func() int64 {
		info, err := os.Stat(pathOf(w.r, w.id.Key()))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	const messages = 20
	for i := range messages {
		w.say(fmt.Sprint("and ", i), "so it is")
		if w.kind != string(Continued) {
			t.Fatalf("message %d is %s", i, w.kind)
		}
	}
	if wrote := (size() - before) / messages; wrote <= 0 || wrote > 1000 {
		t.Errorf("a message writes %d bytes of %d", wrote, before)
	}
	if got := len(onDisk(t, w.r, w.id).Branches[7].Turns); got != 1000+messages {
		t.Errorf("%d turns on the disk", got)
	}
}

// A file does not grow without end.
func TestAFileIsWrittenAgainWhenItIsLong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newTalker(t, dir, time.Now)
	for i := range 500 {
		w.shows = w.shows[:min(len(w.shows), 2)] // another message in the place of the last one
		w.say(fmt.Sprint("message ", i), "an answer that is long enough to be known again")
	}
	info, err := os.Stat(pathOf(w.r, w.id.Key()))
	if err != nil || info.Size() > 64<<10 {
		t.Errorf("the journal has %v bytes, %v", info.Size(), err)
	}
}

// fourTurns are a chat of four turns, and its file.
func fourTurns(t *testing.T, dir string) (w *talker, path string, data []byte) {
	t.Helper()
	w = newTalker(t, dir, time.Now)
	for i := range 4 {
		w.say(fmt.Sprint("message ", i), fmt.Sprint(i, ": an answer that is long enough to be known again"))
	}
	path = pathOf(w.r, w.id.Key())
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return w, path, data
}

// again is the same window after the gateway has started again.
func (w *talker) again(dir string) *talker {
	return &talker{t: w.t, r: open(w.t, dir, time.Now), id: w.id, shows: slices.Clone(w.shows)}
}

// Wherever a crash cuts the file off, the chat is known as it was before the
// line, and goes on.
func TestAFileThatIsCutOffIsAnEarlierChat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, path, data := fourTurns(t, dir)
	first := strings.IndexByte(string(data), '\n')
	last := strings.LastIndexByte(strings.TrimSuffix(string(data), "\n"), '\n')
	for cut := first; cut <= len(data); cut++ {
		if cut < last && cut%17 != 0 {
			continue // the last line everywhere, the others here and there
		}
		if err := os.WriteFile(path, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		again := w.again(dir)
		again.say("and now?", "this")
		if again.conv != w.conv || again.kind != string(Continued) {
			t.Fatalf("cut at %d of %d: %s", cut, len(data), again.kind)
		}
		if turns := onDisk(t, again.r, w.id).Branches[0].Turns; turns[len(turns)-1].User != Of("and now?") || len(turns) != 5 {
			t.Fatalf("cut at %d of %d: %d turns on the disk", cut, len(data), len(turns))
		}
	}
}

// What could not be written is written with the next message that can.
func TestAChatIsWholeAgainWhenTheDiskIs(t *testing.T) {
	t.Parallel()
	w := newTalker(t, t.TempDir(), time.Now)
	w.say("one", "1: an answer that is long enough to be known again")
	path := pathOf(w.r, w.id.Key())
	if err := os.Rename(path, path+".aside"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil { // nothing can be written to it, nor in its place
		t.Fatal(err)
	}
	for i := range 40 {
		w.shows = w.shows[:2] // more branches than are kept
		w.say(fmt.Sprint("message ", i), fmt.Sprint(i, ": another answer that is long enough to be known again"))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".aside", path); err != nil {
		t.Fatal(err)
	}
	w.say("at last", "an answer that is on the disk with all before it")
	c := w.r.acquire(w.id.Key())
	got := onDisk(t, w.r, w.id)
	if len(got.Branches) != len(c.Branches) || !slices.Equal(got.Gone, c.Gone) {
		t.Errorf("%d of %d branches, %d of %d gone", len(got.Branches), len(c.Branches), len(got.Gone), len(c.Gone))
	}
	for i, b := range c.Branches {
		if len(got.Branches[i].Turns) != len(b.Turns) {
			t.Errorf("branch %d: %d of %d turns", i, len(got.Branches[i].Turns), len(b.Turns))
		}
	}
}

// A file that cannot be read for a while, because there are too few descriptors
// for instance, is not written over.
func TestAFileThatCannotBeReadNowIsKept(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), newClock()
	w := newTalker(t, dir, now.now)
	id := w.id
	w.say("one", "the answer")
	conv := w.conv
	w.r = open(t, dir, now.now)
	path := pathOf(w.r, id.Key())
	if err := errors.Join(os.Rename(path, path+".aside"), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	v, err := admit(w.r, Request{ID: id, History: w.shows, Text: "two"}, true)
	if v != nil || !errors.Is(err, ErrUnreadable) {
		t.Fatalf("visit %v, error %v, want ErrUnreadable", v, err)
	}
	if err := errors.Join(os.Remove(path), os.Rename(path+".aside", path)); err != nil {
		t.Fatal(err)
	}
	if w.say("two", "another answer"); w.kind != "continued" || w.conv != conv {
		t.Errorf("%s in %s, want %s to be continued", w.kind, w.conv, conv)
	}
}

// pathOf is the file of a chat.
func pathOf(r *Registry, key string) string {
	return filepath.Join(r.cfg.StateDir, "chats", filepath.FromSlash(file(key)))
}

// Before, a change had a newline in front of it only.
func TestAFileWithoutEmptyLinesIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, path, data := fourTurns(t, dir)
	old := strings.TrimSuffix(strings.ReplaceAll(string(data), "\n\n", "\n"), "\n")
	if old == string(data) || strings.Count(old, "\n") < 3 {
		t.Fatalf("it has no changes: %q", data)
	}
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	again := w.again(dir)
	if turns := onDisk(t, again.r, w.id).Branches[0].Turns; len(turns) != 4 {
		t.Errorf("%d turns are read", len(turns))
	}
	again.say("and now?", "this")
	if turns := onDisk(t, again.r, w.id).Branches[0].Turns; again.conv != w.conv || len(turns) != 5 {
		t.Errorf("the kind = %s with %d turns, want 5 in the same conversation", again.kind, len(turns))
	}
}

func TestAFileOfTheFirstVersionIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := longTalk(t, dir)
	old := longChat()
	old.Version = oldVersion
	data, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pathOf(w.r, w.id.Key()), data, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if w.say("more", "here it is"); w.kind != string(Continued) {
			t.Errorf("it is %s", w.kind)
		}
	}
	if rec := onDisk(t, w.r, w.id); rec.Version != recordVersion || len(rec.Branches[7].Turns) != 1002 {
		t.Errorf("version %d, %d turns", rec.Version, len(rec.Branches[7].Turns))
	}
}

// Chats that share an id are as many as fit, and whose conversation was
// forgotten is told so.
func TestManyChatsShareAnID(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"in memory": "", "on disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			r := open(t, dir, clock.now)
			windows := make([]*talker, 300)
			for i := range windows {
				windows[i] = &talker{t: t, r: r, id: chatNamed("local", true)}
				windows[i].say("hello", fmt.Sprint(i, ": an answer that is long enough to be known again"))
			}
			for i, w := range windows {
				conv := w.conv
				if w.say("and?", fmt.Sprint(i, ": another answer, which is as long as the first one was")); w.kind != string(Continued) || w.conv != conv {
					t.Fatalf("chat %d: %s", i, w.kind)
				}
			}
			// After a week without a message its conversation may be forgotten.
			clock.pass(keepShared - 100*time.Second)
			windows[299].say("still there?", "yes, of course, here I am, as I have always been")
			clock.pass(400 * time.Second)
			(&talker{t: t, r: r, id: chatNamed("local", true)}).say("hello", "an answer to somebody else, who is new here now")
			if dir != "" {
				r = open(t, dir, clock.now)
			}
			for _, i := range []int{0, 298} {
				w := windows[i]
				w.r = r
				if w.say("and now?", "this"); w.kind != string(Quoted) || !strings.Contains(w.line, "no longer exists") {
					t.Errorf("chat %d: %s, %q", i, w.kind, w.line)
				}
			}
			w := windows[299]
			w.r = r
			if w.say("and now?", "this"); w.kind != string(Continued) || w.line != "" {
				t.Errorf("a chat in use: %s, %q", w.kind, w.line)
			}
			unknown := &talker{t: t, r: r, id: chatNamed("local", true), shows: []openai.Turn{{Role: "user", Text: "x"}, {Role: "assistant", Text: "an answer that nobody has ever seen around here"}}}
			if unknown.say("and now?", "this"); unknown.line != "" {
				t.Errorf("a chat that nobody knew: %q", unknown.line)
			}
		})
	}
}

// The turns of all chats that share an id are bounded together.
func TestChatsThatShareAnIDAreBounded(t *testing.T) {
	t.Parallel()
	c := &chat{}
	now := time.Unix(1_790_000_000, 0)
	for i := range 2 * maxShared {
		now = now.Add(time.Second)
		c.makeRoom(true, now)
		c.Branches = append(c.Branches, &branch{Conversation: fmt.Sprint(i), Used: now, Turns: make([]Turn, 1+i%20)})
	}
	turns := 0
	for _, b := range c.Branches {
		turns += len(b.Turns)
	}
	if len(c.Branches) > maxShared || turns > maxSharedTurns+20 || c.find(fmt.Sprint(2*maxShared-1)) == nil {
		t.Errorf("%d conversations, %d turns", len(c.Branches), turns)
	}
	c.underway = append(c.underway, underway{conversation: c.Branches[0].Conversation})
	busy := c.Branches[0].Conversation
	for range 10 {
		c.makeRoom(true, now.Add(10*keepShared))
	}
	if len(c.Branches) != 1 || c.Branches[0].Conversation != busy {
		t.Error("a conversation with a run is forgotten")
	}
}

func BenchmarkSaveLongChat(b *testing.B) {
	w := longTalk(b, b.TempDir())
	c := w.r.acquire(w.id.Key())
	var err error
	if c.record, c.saved, err = w.r.store.load(c.key); err != nil {
		b.Fatal(err)
	}
	last := c.Branches[7]
	before, err := os.Stat(filepath.Clean(pathOf(w.r, c.key)))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(before.Size()) // what was written before
	for b.Loop() {
		last.Turns[999].Answers = append(slices.Clone(last.Turns[999].Answers[:1]), Of(fmt.Sprint(b.N)))
		if err := w.r.store.save(c, last); err != nil {
			b.Fatal(err)
		}
	}
}
