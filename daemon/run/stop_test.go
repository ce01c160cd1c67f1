package run_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestStopEndsARunWithWhatWasDone(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		began := time.Now()
		a := w.submit(ask("wait"))
		defer a.Close()
		w.wantRuns(1)
		if n := w.m.Stop("t", a.ConversationID(), ""); n != 1 {
			t.Errorf("stopped %d runs", n)
		}
		if _, res, err := w.read(a); res.Outcome != turn.Interrupted || err != nil {
			t.Errorf("the result = %+v, %v", res, err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %s", took)
		}
		if n := w.m.Stop("t", a.ConversationID(), ""); n != 0 {
			t.Errorf("stopped %d runs that are over", n)
		}
	})
}

func TestStopEndsARunWhoseClientHasGone(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 1}, func(w *world) {
		began := time.Now()
		a := w.submit(ask("wait"))
		w.wantRuns(1)
		a.Close()
		w.m.Stop("t", a.ConversationID(), "")
		w.answered(ask("next"))
		if took := time.Since(began); took != 0 {
			t.Errorf("the slot was free after %s", took)
		}
	})
}

func TestStopReachesThoseThatWait(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 1}, func(w *world) {
		held := w.submit(ask("wait"))
		defer held.Close()
		synctest.Wait()
		id := uuid.New()
		req := ask("never")
		req.ConversationID, req.IdempotencyKey = id, "key"
		for _, a := range []*run.Attachment{w.submit(req), w.submit(ask("neither"))} {
			w.m.Stop("t", a.ConversationID(), map[string]string{id: "key"}[a.ConversationID()])
			if _, _, err := w.read(a); !errors.Is(err, run.ErrStopped) {
				t.Errorf("the error of the stopped run: %v, want ErrStopped", err)
			}
			a.Close()
		}
		w.b.conv(held.ConversationID()).letGo()
		w.mustRead(held)
		w.wantRuns(1)
	})
}

func TestStopReachesNothingElse(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		a := w.submit(ask("wait"))
		defer a.Close()
		synctest.Wait()
		if n := w.m.Stop("other", a.ConversationID(), "") + w.m.Stop("t", uuid.New(), "") + w.m.Stop("t", a.ConversationID(), "another"); n != 0 {
			t.Errorf("stopped %d runs", n)
		}
		w.b.conv(a.ConversationID()).letGo()
		if res := w.mustRead(a); res.Outcome != turn.Finished {
			t.Errorf("the result = %+v", res)
		}
	})
}

// A run that an earlier process started is as much the client's as its own.
func TestARunOfAnEarlierProcessIsStopped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stop  func(*world, *run.Attachment)
		fails bool
	}{
		"by its client":              {func(w *world, a *run.Attachment) { w.m.Stop("t", a.ConversationID(), "") }, false},
		"when its client has gone":   {func(_ *world, a *run.Attachment) { a.Close() }, true},
		"when the manager is closed": {func(w *world, _ *run.Attachment) { w.stop() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := run.Config{OneShotTTL: time.Hour, StateDir: t.TempDir()}
			inBubble(t, cfg, func(w *world) {
				first := w.submit(keyed("wait"))
				synctest.Wait()
				old := w.m // it has crashed: it interrupts nothing
				defer old.Close()
				defer first.Close()
				w.start(cfg)
				a := w.submit(keyed("wait"))
				defer a.Close()
				synctest.Wait()
				tt.stop(w, a)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if n := w.b.conv(a.ConversationID()).interrupted(); n != 1 {
					t.Errorf("%d interrupts", n)
				}
				if _, res, err := w.read(a); (err != nil) != tt.fails || errors.Is(err, context.Canceled) || res.Outcome != turn.Interrupted {
					t.Errorf("the result = %+v, %v", res, err)
				}
			})
		})
	}
}

// Who stops it is told so, and not that something is broken.
func TestStopReachesAConversationThatIsBeingOpened(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stop func(*world, *run.Attachment)
		want error
	}{
		"by its client":              {func(w *world, a *run.Attachment) { w.m.Stop("t", a.ConversationID(), "") }, run.ErrStopped},
		"when the manager is closed": {func(w *world, _ *run.Attachment) { w.stop() }, run.ErrDraining},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, run.Config{}, func(w *world) {
				w.b.slow = true
				a := w.submit(ask("hi"))
				defer a.Close()
				synctest.Wait()
				tt.stop(w, a)
				if _, _, err := w.read(a); !errors.Is(err, tt.want) {
					t.Errorf("the error of the stopped run: %v, want %v", err, tt.want)
				}
				w.wantRuns(0)
			})
		})
	}
}

// noted is an observer that waits when the run is about to begin.
type noted struct {
	wait  func()
	began *bool // the agent may have begun
}

func (n noted) Admitted(string, string, time.Time) {}
func (n noted) Begin(turn.Baseline) error          { n.wait(); return nil }
func (n noted) Update(turn.Update)                 {}
func (n noted) End(_ turn.Result, _ error, b bool) { *n.began = b }
func (n noted) Size() int                          { return 0 }

func TestStopReachesARunThatIsAboutToBegin(t *testing.T) {
	t.Parallel()
	cfg := run.Config{StateDir: t.TempDir()}
	inBubble(t, cfg, func(w *world) {
		began := true
		req := keyed("hi")
		req.ConversationID = uuid.New()
		stopped := make(chan struct{})
		req.Observer = noted{func() { <-stopped }, &began}
		a := w.submit(req)
		defer a.Close()
		synctest.Wait()
		w.m.Stop("t", req.ConversationID, "")
		close(stopped)
		if _, _, err := w.read(a); !errors.Is(err, run.ErrStopped) || began {
			t.Errorf("the error of the stopped run: %v, the agent may have begun: %t; want ErrStopped before it began", err, began)
		}
		w.wantRuns(0)
		again := keyed("hi")
		again.ConversationID = req.ConversationID
		b := w.submit(again)
		defer b.Close()
		if res := w.mustRead(b); res.Outcome != turn.Finished {
			t.Errorf("a request with the same key: %+v", res)
		}
		w.wantRuns(1)
	})
}

func TestAnotherTokenDoesNotEndTheGrace(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		mine, theirs := ask("wait"), ask("theirs")
		mine.ConversationID = uuid.New()
		theirs.ConversationID, theirs.Token = mine.ConversationID, "other"
		w.submit(mine).Close()
		synctest.Wait()
		b := w.submit(theirs)
		defer b.Close()
		again := w.submit(mine)
		defer again.Close()
		synctest.Wait()
		if !again.Replayed() {
			t.Fatal("the run that a client lost was ended by another token")
		}
		w.b.conv(mine.ConversationID).letGo()
		if res := w.mustRead(again); res.Outcome != turn.Finished {
			t.Errorf("the result = %+v", res)
		}
		w.mustRead(b)
	})
}
