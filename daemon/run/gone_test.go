package run_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
)

// hangUp is a request of a client that can hang up without the attachment
// knowing yet.
func hangUp(req run.Request) (_ run.Request, gone *atomic.Bool) {
	gone = new(atomic.Bool)
	req.Gone = gone.Load
	return req, gone
}

// A request may be admitted after its client has hung up, and after the repeat
// of that client. It starts nothing: its answer would have no reader.
func TestARequestWhoseClientHasHungUpStartsNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*run.Request){
		"one-shot":     func(*run.Request) {},
		"conversation": func(r *run.Request) { r.ConversationID = uuid.New() },
		"key":          func(r *run.Request) { r.IdempotencyKey = "k" },
		"marked":       func(r *run.Request) { r.Retry = true },
		"fresh":        func(r *run.Request) { r.Fresh = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, run.Config{StateDir: t.TempDir()}, func(w *world) {
				first, gone := hangUp(ask("wait"))
				change(&first)
				gone.Store(true)
				repeat := first
				repeat.Retry, repeat.Gone = true, nil
				b := w.submit(repeat)
				defer b.Close()
				w.wantRuns(1)
				if a, err := w.m.Submit(t.Context(), first); !errors.Is(err, run.ErrGone) {
					t.Errorf("the run and its error: %v, %v", a, err)
				}
				w.wantRuns(1)
			})
		})
	}
}

// A client that lets the run go on without it may hang up at once.
func TestADetachedRequestRunsWithoutItsClient(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		req, gone := hangUp(ask("hi"))
		req.Detach = true
		gone.Store(true)
		w.submit(req).Close()
		w.wantRuns(1)
	})
}

// The repeat of a client that has hung up may come before its first request
// noticed that. The run is the repeat's, and the hang-up is counted once.
func TestARepeatThatOvertakesTheHangUpJoins(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		req, gone := hangUp(ask("wait"))
		a := w.submit(req)
		synctest.Wait()
		other := w.submit(ask("wait")) // another sample, while the first is there
		defer other.Close()
		w.wantRuns(2)
		gone.Store(true)
		repeat := w.submit(ask("wait"))
		defer repeat.Close()
		if !repeat.Replayed() || repeat.ConversationID() != a.ConversationID() {
			t.Error("the repeat got a run of its own")
		}
		a.Close()
		third := w.submit(ask("wait"))
		defer third.Close()
		if third.Replayed() {
			t.Error("one hang-up was taken for two")
		}
		w.wantRuns(3)
	})
}

// Who has the whole answer and hangs up is owed nothing.
func TestAHangUpAfterTheAnswerIsOwedNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		req, gone := hangUp(ask("hi"))
		a := w.submit(req)
		defer a.Close()
		w.mustRead(a)
		a.Delivered()
		gone.Store(true)
		b := w.submit(ask("hi"))
		defer b.Close()
		if b.Replayed() {
			t.Error("an answer that its client has was given to another sample")
		}
	})
}
