package run_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
)

// What a run needed and its answer does not is gone with its end, however long
// the answer is kept.
func TestEndedJobsHoldNoPictures(t *testing.T) {
	inBubble(t, run.Config{OneShotTTL: -1}, func(w *world) {
		const jobs, size = 100, 1 << 20
		heap := func() int {
			synctest.Wait()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc)
		}
		before := heap()
		for i := range jobs {
			req := ask("hello")
			req.Fingerprint = run.Fingerprint{byte(i), 1}
			req.Message.Images = []string{strings.Repeat("A", size)}
			req.System = strings.Repeat("s", 1<<18)
			a := w.submit(req)
			w.mustRead(a)
			a.Close() // the client did not get the answer: it is kept for ten minutes
			synctest.Wait()
			w.b.mu.Lock()
			w.b.opened = nil
			w.b.mu.Unlock()
		}
		if n := w.m.Remembered(); n != jobs {
			t.Fatalf("%d jobs are remembered, want %d", n, jobs)
		}
		if grown := heap() - before; grown > 5*size {
			t.Errorf("%d ended jobs hold %d MiB", jobs, grown>>20)
		}
	})
}

// All that ended jobs keep is counted: many long answers do not stay.
func TestWhatEndedJobsKeepIsBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{OneShotTTL: -1}, func(w *world) {
		for i := range 60 {
			req := ask("long")
			req.Fingerprint = run.Fingerprint{byte(i), 2}
			a := w.submit(req)
			w.mustRead(a)
			a.Close()
		}
		// Each keeps its answer of 1 MiB twice, as text and as the result.
		if n := w.m.Remembered(); n < 20 || n > 40 {
			t.Errorf("%d jobs with 2 MiB each are remembered", n)
		}
	})
}

func TestAPieceLargerThanTheLogReachesItsClient(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxLog: 100_000}, func(w *world) {
		a := w.submit(ask("long"))
		defer a.Close()
		if text, res, err := w.read(a); len(text) != 1<<20 || text != res.Answer || err != nil {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	})
}

// Who comes for an answer whose beginning is not kept is told so, and gets no
// stream from its middle.
func TestARepeatGetsEverythingOrAnError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit int
		want  error
		whole bool
	}{
		"kept": {10 << 20, io.EOF, true}, "not kept": {100_000, run.ErrTrimmed, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, run.Config{MaxLog: tt.limit}, func(w *world) {
				a := w.submit(ask("many"))
				w.mustReadSlowly(a, tt.whole)
				a.Close()
				b := w.submit(ask("many"))
				defer b.Close()
				var text strings.Builder
				err := error(nil)
				for err == nil {
					var u turn.Update
					u, err = b.Next(t.Context())
					text.WriteString(u.Text)
				}
				if !errors.Is(err, tt.want) || tt.whole && text.String() != strings.Repeat("0123456789", 100_000) {
					t.Fatalf("the error of the reader: %v after %d bytes", err, text.Len())
				}
				b.Skip() // a client that wants the result only
				for err = nil; err == nil; _, err = b.Next(t.Context()) {
				}
				if res, resErr := b.Result(); !errors.Is(err, io.EOF) || resErr != nil || len(res.Answer) != 1_000_000 {
					t.Errorf("the error, the result and its answer: %v, %v, %d bytes", err, resErr, len(res.Answer))
				}
			})
		})
	}
}

// mustReadSlowly waits for the end of the job and reads then, if it can.
func (w *world) mustReadSlowly(a *run.Attachment, can bool) {
	w.t.Helper()
	synctest.Wait()
	if can {
		w.mustRead(a)
		return
	}
	if _, err := a.Next(w.t.Context()); !errors.Is(err, run.ErrBehind) {
		w.t.Errorf("the error of the reader: %v, want ErrBehind", err)
	}
}

// The answer of a run that is over waits for no other run.
func TestARecordIsReadWhileItsConversationIsAtWork(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{StateDir: t.TempDir(), MaxRuns: 1}, func(w *world) {
		first := keyed("hi")
		first.ConversationID = uuid.New()
		w.answered(first)
		time.Sleep(time.Hour) // only the record knows
		second := ask("wait")
		second.ConversationID = first.ConversationID
		a := w.submit(second)
		defer a.Close()
		synctest.Wait()
		began := time.Now()
		b := w.submit(first)
		defer b.Close()
		if text, _, err := w.read(b); text != "re: hi" || err != nil || time.Since(began) != 0 {
			t.Errorf(`the text = %q, want "re: hi", %v after %s`, text, err, time.Since(began))
		}
		if s := w.m.Stats(); s.Running != 1 || s.Queued != 0 {
			t.Errorf("the statistics = %+v, want one running", s)
		}
		w.b.conv(a.ConversationID()).letGo()
		w.mustRead(a)
		w.answered(ask("next")) // no slot was lost
	})
}
