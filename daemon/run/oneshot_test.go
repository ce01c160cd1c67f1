package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/run/journal/journaltest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// remover is the backend with a Remove of the test's.
type remover struct {
	*backend
	before func(ctx context.Context, id string) error
}

func (r remover) Remove(ctx context.Context, id string) error {
	if err := r.before(ctx, id); err != nil {
		return err
	}
	return r.backend.Remove(ctx, id)
}

func withRemove(t *testing.T, cfg run.Config, before func(context.Context, string) error, f func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, b: newBackend()}
		cfg.Backend = remover{w.b, before}
		w.start(cfg)
		defer w.stop()
		f(w)
	})
}

func journalOf(cfg run.Config) string { return filepath.Join(cfg.StateDir, "one-shots.jsonl") }

// leftBehind are n one-shots whose time was over an hour ago.
func leftBehind(t *testing.T, w *world, cfg run.Config, n int) {
	t.Helper()
	leftUntil(t, w, cfg, n, time.Now().Add(-time.Hour))
}

// leftUntil are n one-shots that an earlier process left, until a time.
func leftUntil(t *testing.T, w *world, cfg run.Config, n int, until time.Time) {
	t.Helper()
	var journal bytes.Buffer
	ends := until.UTC().Format(time.RFC3339)
	for range n {
		id := uuid.New()
		w.b.convs[id] = &conv{b: w.b, id: id}
		fmt.Fprintf(&journal, `{"id":%q,"ends":%q}`+"\n", id, ends)
	}
	if err := os.WriteFile(journalOf(cfg), journal.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func then(w *world, a *run.Attachment, text string) run.Request {
	w.t.Helper()
	req := ask(text)
	req.ConversationID = a.ConversationID()
	return req
}

// ofThePast is in the journal only until it is rewritten.
const ofThePast = `{"id":"of the past","gone":true}` + "\n"

// nearRewrite appends so many notes to the journal that the next process rewrites it
// soon.
func nearRewrite(t *testing.T, cfg run.Config) {
	t.Helper()
	data, err := os.ReadFile(journalOf(cfg))
	if err == nil {
		err = os.WriteFile(journalOf(cfg), append(data, strings.Repeat(ofThePast, 9_990)...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// rewritten makes one-shots until the journal is rewritten, and some more.
func rewritten(w *world, cfg run.Config) {
	w.t.Helper()
	for i := range 20 { // with three notes each
		oneShot(w, fmt.Sprint(i))
	}
	if data, err := os.ReadFile(journalOf(cfg)); err != nil || strings.Contains(string(data), ofThePast) {
		w.t.Fatalf("the journal was not rewritten (%v)", err)
	}
}

func oneShot(w *world, text string) *run.Attachment {
	w.t.Helper()
	a := w.submit(ask(text))
	w.mustRead(a)
	a.Delivered()
	a.Close()
	synctest.Wait()
	return a
}

// Wherever the process dies once the next turn has begun, the conversation is
// not removed by the one that comes after it.
func TestAKeptConversationSurvivesACrash(t *testing.T) {
	t.Parallel()
	cfg := run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}
	inBubble(t, cfg, func(w *world) {
		disk := &journaltest.Disk{}
		w.m.Use(disk)
		a := oneShot(w, "hi")
		b := w.submit(then(w, a, "wait: go on"))
		defer b.Close()
		w.wantRuns(2)
		if disk.Syncs() != 1 {
			t.Errorf("the turn began after %d syncs", disk.Syncs())
		}
		old := w.m // a crash: nothing is written any more
		disk.Close()
		defer old.Close()
		w.start(cfg)
		time.Sleep(time.Hour)
		if _, convs := w.b.counts(); convs != 1 {
			t.Error("the conversation was removed")
		}
	})
}

func TestOnAFullDiskNothingIsPromised(t *testing.T) {
	t.Parallel()
	cfg := run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}
	inBubble(t, cfg, func(w *world) {
		disk := &journaltest.Disk{}
		w.m.Use(disk)
		a := oneShot(w, "hi")
		disk.Full(3)
		if _, err := w.m.Submit(w.t.Context(), then(w, a, "go on")); !errors.Is(err, run.ErrState) {
			t.Errorf("continued: error %v, want ErrState", err)
		}
		b := w.submit(ask("another"))
		if _, _, err := w.read(b); !errors.Is(err, run.ErrState) {
			t.Errorf("one-shot: error %v, want ErrState", err)
		}
		b.Close()
		w.wantRuns(1)
		disk.Free()
		w.answered(then(w, a, "go on")) // with room again it is kept as ever
		w.stop()
		w.start(cfg)
		time.Sleep(time.Hour)
		if _, convs := w.b.counts(); convs != 1 {
			t.Errorf("%d conversations, want the kept one", convs)
		}
	})
}

// What was not kept is removed, also when the attempt failed.
func TestAConversationThatCouldNotBeKeptIsRemoved(t *testing.T) {
	t.Parallel()
	cfg := run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}
	inBubble(t, cfg, func(w *world) {
		disk := &journaltest.Disk{}
		w.m.Use(disk)
		a := oneShot(w, "hi")
		disk.Full(0)
		if _, err := w.m.Submit(w.t.Context(), then(w, a, "go on")); err == nil {
			t.Fatal("no error")
		}
		disk.Free()
		time.Sleep(time.Hour)
		if _, convs := w.b.counts(); convs != 0 {
			t.Error("not removed")
		}
	})
}

// A conversation that goes on only once more stays a one-shot, whatever becomes of
// that turn, the process and the disk.
func TestAOneShotThatGoesOnStaysOne(t *testing.T) {
	t.Parallel()
	once := func(w *world, a *run.Attachment, text string) run.Request {
		req := then(w, a, text)
		req.Once = true
		return req
	}
	gone := func(w *world) {
		w.t.Helper()
		time.Sleep(time.Hour)
		if _, convs := w.b.counts(); convs != 0 {
			w.t.Error("not removed")
		}
	}
	t.Run("its time begins again", func(t *testing.T) {
		t.Parallel()
		inBubble(t, run.Config{OneShotTTL: time.Minute}, func(w *world) {
			a := oneShot(w, "hi")
			time.Sleep(50 * time.Second)
			w.answered(once(w, a, "go on"))
			time.Sleep(50 * time.Second)
			if _, convs := w.b.counts(); convs != 1 {
				t.Error("removed in its time")
			}
			gone(w)
		})
	})
	t.Run("a crash", func(t *testing.T) {
		t.Parallel()
		cfg := run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}
		inBubble(t, cfg, func(w *world) {
			disk := &journaltest.Disk{}
			w.m.Use(disk)
			b := w.submit(once(w, oneShot(w, "hi"), "wait: go on"))
			defer b.Close()
			w.wantRuns(2)
			old := w.m // nothing is written any more
			disk.Close()
			defer old.Close()
			w.start(cfg)
			time.Sleep(10 * time.Minute)
			if _, convs := w.b.counts(); convs != 1 {
				t.Error("removed before its client could come back")
			}
			gone(w)
		})
	})
	t.Run("a full disk", func(t *testing.T) {
		t.Parallel()
		cfg := run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}
		inBubble(t, cfg, func(w *world) {
			disk := &journaltest.Disk{}
			w.m.Use(disk)
			a := oneShot(w, "hi")
			disk.Full(0)
			if _, err := w.m.Submit(w.t.Context(), once(w, a, "go on")); !errors.Is(err, run.ErrState) {
				t.Errorf("error %v, want ErrState", err)
			}
			disk.Free()
			w.wantRuns(1)
			gone(w)
		})
	})
}

func TestARefusedTokenKeepsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{OneShotTTL: time.Minute}, func(w *world) {
		req := then(w, oneShot(w, "hi"), "let me in")
		req.Own = true
		if _, err := w.m.Submit(w.t.Context(), req); !errors.Is(err, agentapi.ErrConversationNotFound) {
			t.Errorf("error %v", err)
		}
		time.Sleep(time.Hour)
		if _, convs := w.b.counts(); convs != 0 {
			t.Error("a refused request kept the conversation")
		}
	})
}

// slowOwners takes a minute to say who owns a conversation that has been opened.
type slowOwners struct {
	slow  atomic.Bool
	asked atomic.Int32
}

func (o *slowOwners) Owner(string) (string, error) {
	if o.slow.Load() && o.asked.Add(1) > 1 { // the first time it is not open yet
		time.Sleep(time.Minute)
	}
	return "t", nil
}
func (*slowOwners) Claim(string, string) error { return nil }
func (*slowOwners) Forget(string) error        { return nil }

func TestAConversationIsNotRemovedUnderItsClient(t *testing.T) {
	t.Parallel()
	t.Run("the removal works", func(t *testing.T) {
		t.Parallel()
		slow := func(context.Context, string) error { time.Sleep(5 * time.Second); return nil }
		withRemove(t, run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}, slow, func(w *world) {
			a := oneShot(w, "hi")
			time.Sleep(62 * time.Second) // it is being removed
			w.answered(then(w, a, "go on"))
			time.Sleep(time.Hour)
			c := w.b.conv(a.ConversationID())
			if c == nil || fmt.Sprint(c.texts) != "[go on]" {
				t.Errorf("want a conversation of its own that stays, got %+v", c)
			}
		})
	})
	t.Run("the removal fails", func(t *testing.T) {
		t.Parallel()
		fails := func(context.Context, string) error { time.Sleep(5 * time.Second); return errors.New("no") }
		withRemove(t, run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}, fails, func(w *world) {
			a := oneShot(w, "hi")
			time.Sleep(62 * time.Second)
			w.answered(then(w, a, "go on"))
			time.Sleep(time.Hour)
			if c := w.b.conv(a.ConversationID()); c == nil || fmt.Sprint(c.texts) != "[hi go on]" {
				t.Errorf("want the old conversation, got %+v", c)
			}
			if n := w.m.Noted(); n != 0 {
				t.Errorf("%d one-shots", n)
			}
		})
	})
	t.Run("its client came first", func(t *testing.T) {
		t.Parallel()
		owners := &slowOwners{}
		inBubble(t, run.Config{OneShotTTL: time.Minute, Owners: owners}, func(w *world) {
			a := oneShot(w, "hi")
			time.Sleep(30 * time.Second)
			owners.slow.Store(true) // it expires meanwhile
			b := w.submit(then(w, a, "wait"))
			time.Sleep(time.Hour)
			w.b.conv(a.ConversationID()).letGo()
			w.mustRead(b)
			b.Close()
			if _, convs := w.b.counts(); convs != 1 {
				t.Error("removed under its client")
			}
		})
	})
}

func TestManyOneShotsOfAnEarlierProcessAreRemovedAFewAtATime(t *testing.T) {
	t.Parallel()
	cfg := run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}
	var now, most atomic.Int32
	count := func(context.Context, string) error {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		time.Sleep(10 * time.Millisecond)
		return nil
	}
	withRemove(t, cfg, count, func(w *world) {
		w.stop()
		leftBehind(t, w, cfg, 5000)
		cfg.Backend = remover{w.b, count}
		w.start(cfg)
		time.Sleep(time.Minute)
		if _, convs := w.b.counts(); convs != 0 {
			t.Errorf("%d are left", convs)
		}
		if got := most.Load(); got > 4 {
			t.Errorf("%d removals at the same time", got)
		}
	})
}

func TestRemovalsThatFailAreTriedLessAndLess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		most int32 // calls in a day
	}{
		{"each of them", errors.New("no"), 50 * 12},
		{"the whole backend", &agentapi.Error{Kind: agentapi.ErrUnavailable}, 4 * 31},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}
			var calls atomic.Int32
			var fixed atomic.Bool
			fails := func(context.Context, string) error {
				calls.Add(1)
				if fixed.Load() {
					return nil
				}
				return tt.err
			}
			withRemove(t, cfg, fails, func(w *world) {
				w.stop()
				leftBehind(t, w, cfg, 50)
				cfg.Backend = remover{w.b, fails}
				w.start(cfg)
				time.Sleep(24 * time.Hour)
				if n := calls.Load(); n > tt.most || n == 0 {
					t.Errorf("%d calls in a day, want at most %d", n, tt.most)
				}
				fixed.Store(true)
				time.Sleep(25 * time.Hour)
				if _, convs := w.b.counts(); convs != 0 {
					t.Errorf("%d are left", convs)
				}
			})
		})
	}
}

func TestAOneShotThatNeverBeganLeavesNoNote(t *testing.T) {
	t.Parallel()
	cfg := run.Config{OneShotTTL: time.Hour, StateDir: t.TempDir()}
	inBubble(t, cfg, func(w *world) {
		w.b.openErr = &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "down"}
		for i := range 500 {
			a := w.submit(ask(fmt.Sprint(i)))
			if _, _, err := w.read(a); err == nil {
				t.Fatal("no error")
			}
			a.Close()
		}
		synctest.Wait()
		info, err := os.Stat(journalOf(cfg))
		if err != nil || info.Size() != 0 || w.m.Noted() != 0 {
			t.Errorf("journal %v, %v; %d in memory", info.Size(), err, w.m.Noted())
		}
	})
}

func TestOneShotsOfAnotherBackendWaitForIt(t *testing.T) {
	t.Parallel()
	cfg := run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir(), BackendID: "a"}
	other := cfg
	other.BackendID = "b"
	inBubble(t, cfg, func(w *world) {
		oneShot(w, "hi")
		w.stop()
		nearRewrite(t, cfg)
		w.start(other)
		rewritten(w, cfg)
		time.Sleep(20 * 24 * time.Hour)
		if _, convs := w.b.counts(); convs != 1 {
			t.Fatalf("%d conversations, want that of the other backend", convs)
		}
		w.stop()
		w.start(cfg)
		time.Sleep(time.Hour)
		if _, convs := w.b.counts(); convs != 0 {
			t.Error("not removed when its backend was back")
		}
	})
	inBubble(t, cfg, func(w *world) {
		oneShot(w, "hi")
		w.stop()
		time.Sleep(31 * 24 * time.Hour)
		nearRewrite(t, cfg)
		w.start(other)
		rewritten(w, cfg)
		w.stop()
		if data, err := os.ReadFile(journalOf(cfg)); err != nil || bytes.Contains(data, []byte(`"backend":"a"`)) {
			t.Errorf("a note of 31 days ago is still there (%v)", err)
		}
		w.start(other)
	})
}

// A clock that ran ahead when the one-shot ended does not let it stay for years.
func TestAOneShotFromTheFutureIsRemoved(t *testing.T) {
	t.Parallel()
	cfg := run.Config{OneShotTTL: time.Hour, StateDir: t.TempDir()}
	inBubble(t, cfg, func(w *world) {
		w.stop()
		leftUntil(t, w, cfg, 1, time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC))
		w.start(cfg)
		time.Sleep(61 * time.Minute)
		if _, convs := w.b.counts(); convs != 0 {
			t.Error("not removed")
		}
	})
}

// While the clock was a day behind, the timer was set for a day. The clock is
// right again, so the one-shot goes.
func TestAOneShotOutlivesNoClockThatWasWrong(t *testing.T) {
	t.Parallel()
	var behind atomic.Int64
	cfg := run.Config{OneShotTTL: time.Hour, Now: func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }}
	inBubble(t, cfg, func(w *world) {
		oneShot(w, "first")
		behind.Store(int64(24 * time.Hour))
		time.Sleep(time.Minute)
		oneShot(w, "second")
		time.Sleep(time.Hour + time.Second) // it is removed, and the timer is set for the first one
		behind.Store(0)
		time.Sleep(2 * time.Minute)
		if _, convs := w.b.counts(); convs != 0 {
			t.Errorf("%d conversations are there an hour after they ended, want none", convs)
		}
	})
}

// As long as it is not known which conversations are one-shots, none is
// continued: it could be removed later.
func TestAJournalThatCannotBeReadKeepsNothing(t *testing.T) {
	t.Parallel()
	cfg := run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}
	inBubble(t, cfg, func(w *world) {
		a := oneShot(w, "hi")
		w.stop()
		aside := journalOf(cfg) + ".aside"
		if err := errors.Join(os.Rename(journalOf(cfg), aside), os.Mkdir(journalOf(cfg), 0o700)); err != nil {
			t.Fatal(err)
		}
		w.start(cfg)
		if _, err := w.m.Submit(w.t.Context(), then(w, a, "go on")); !errors.Is(err, run.ErrState) {
			t.Errorf("error %v, want ErrState", err)
		}
		if err := errors.Join(os.Remove(journalOf(cfg)), os.Rename(aside, journalOf(cfg))); err != nil {
			t.Fatal(err)
		}
		w.answered(then(w, a, "go on"))
		time.Sleep(time.Hour)
		if _, convs := w.b.counts(); convs != 1 {
			t.Error("removed")
		}
	})
}

// The agent of a one-shot keeps no notes, however long that stays; that of a conversation
// that is kept may.
func TestTheBackendKnowsWhatIsAOneShot(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{time.Minute, -1} {
		for _, keep := range []bool{false, true} {
			inBubble(t, run.Config{OneShotTTL: ttl}, func(w *world) {
				req := ask("hello")
				req.Keep = keep
				w.answered(req)
				w.b.mu.Lock()
				defer w.b.mu.Unlock()
				if len(w.b.opened) != 1 || w.b.opened[0].OneShot == keep {
					t.Errorf("one-shots stay for %s, kept %t: opened %+v", ttl, keep, w.b.opened)
				}
			})
		}
	}
}

// Closing a conversation writes its files once more, which is in vain for one
// that is removed next.
func TestOneShotThatIsRemovedAtOnceIsNotClosedFirst(t *testing.T) {
	t.Parallel()
	for ttl, closed := range map[time.Duration]bool{time.Minute: true, -1: false} {
		inBubble(t, run.Config{OneShotTTL: ttl}, func(w *world) {
			w.answered(ask("hello"))
			w.b.mu.Lock()
			defer w.b.mu.Unlock()
			if len(w.b.opened) != 1 || w.b.opened[0].Once != closed {
				t.Errorf("one-shots stay for %s: opened %+v", ttl, w.b.opened)
			}
		})
	}
}

// Only a client that has nothing to ask with can do without the disk.
func TestOnlyAOneShotWithoutAKeyIsNotKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*run.Request)
		unkept bool
	}{
		"one-shot":                         {func(*run.Request) {}, true},
		"one-shot with an Idempotency-Key": {func(r *run.Request) { r.IdempotencyKey = "k" }, false},
		"conversation with an id":          {func(r *run.Request) { r.ConversationID = uuid.New() }, false},
		"conversation that its caller has": {func(r *run.Request) { r.Keep = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}, func(w *world) {
				req := ask("hello")
				tt.change(&req)
				w.answered(req)
				w.b.mu.Lock()
				defer w.b.mu.Unlock()
				if len(w.b.opened) != 1 || w.b.opened[0].Unkept != tt.unkept {
					t.Errorf("opened %+v, want Unkept = %t", w.b.opened, tt.unkept)
				}
			})
		})
	}
}

// A one-shot that its client continues is kept from then on, also what was said before.
func TestAOneShotThatIsContinuedIsKept(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{true, false} {
		inBubble(t, run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}, func(w *world) {
			next := then(w, oneShot(w, "hello"), "go on")
			next.Once = once
			w.answered(next)
			w.b.mu.Lock()
			defer w.b.mu.Unlock()
			if len(w.b.opened) != 2 || !w.b.opened[0].Unkept || w.b.opened[1].Unkept {
				t.Errorf("opened %+v", w.b.opened)
			}
		})
	}
}
