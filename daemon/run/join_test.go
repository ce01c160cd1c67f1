package run_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
)

// A run that is being stopped takes no new client: the same message gets a run
// of its own, behind it where both are in one conversation.
func TestARequestDuringAnInterruptGetsItsOwnRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stop   func(*world, *run.Attachment)
		change func(*run.Request)
	}{
		"after the grace":                          {func(_ *world, a *run.Attachment) { a.Close(); time.Sleep(11 * time.Second) }, func(*run.Request) {}},
		"after the grace, marked as a repeat":      {func(_ *world, a *run.Attachment) { a.Close(); time.Sleep(11 * time.Second) }, func(r *run.Request) { r.Retry = true }},
		"after a stop":                             {func(w *world, a *run.Attachment) { w.m.Stop("t", a.ConversationID(), ""); a.Close() }, func(*run.Request) {}},
		"after a stop, marked as a repeat":         {func(w *world, a *run.Attachment) { w.m.Stop("t", a.ConversationID(), ""); a.Close() }, func(r *run.Request) { r.Retry = true }},
		"after a stop, while somebody still reads": {func(w *world, a *run.Attachment) { w.m.Stop("t", a.ConversationID(), "") }, func(*run.Request) {}},
	} {
		for where, id := range map[string]string{"in a one-shot": "", "in a conversation": uuid.New()} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				inBubble(t, run.Config{}, func(w *world) {
					w.b.obeys = 5 * time.Second
					req := ask("wait")
					req.ConversationID = id
					a := w.submit(req)
					defer a.Close()
					synctest.Wait()
					tt.stop(w, a)
					synctest.Wait()
					tt.change(&req)
					b := w.submit(req)
					defer b.Close()
					if b.Replayed() {
						t.Fatal("it was given the run that is being stopped")
					}
					time.Sleep(6 * time.Second)
					w.wantRuns(2)
					w.b.conv(b.ConversationID()).letGo()
					if text, res, err := w.read(b); text != "partly done" || res.Outcome != turn.Finished || err != nil {
						t.Errorf(`the text = %q, want "partly done", the result = %+v, %v`, text, res, err)
					}
				})
			})
		}
	}
}

// A run that was stopped does not answer requests that come later.
func TestAStoppedRunIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, retry := range []bool{false, true} {
		inBubble(t, run.Config{}, func(w *world) {
			a := w.submit(ask("wait"))
			synctest.Wait()
			w.m.Stop("t", a.ConversationID(), "")
			a.Close()
			time.Sleep(3 * time.Second)
			req := ask("wait")
			req.Retry = retry
			b := w.submit(req)
			defer b.Close()
			w.wantRuns(2)
			if b.Replayed() {
				t.Error("it was given the run that was stopped")
			}
		})
	}
}

// An idempotency key runs once, also where no client waited for it.
func TestTheKeyOfAnAbandonedRunSaysSo(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{StateDir: t.TempDir()}, func(w *world) {
		w.b.obeys = 5 * time.Second
		a := w.submit(keyed("wait"))
		synctest.Wait()
		a.Close()
		for _, pause := range []time.Duration{11 * time.Second, 20 * time.Second} { // while it is being stopped, and later
			time.Sleep(pause)
			b := w.submit(keyed("wait"))
			_, _, err := w.read(b)
			b.Close()
			if !errors.Is(err, run.ErrAbandoned) && !errors.Is(err, run.ErrInterrupted) {
				t.Errorf("after %s: %v", pause, err)
			}
		}
		w.wantRuns(1)
	})
}

// A key whose request was given up before anything was sent is free.
func TestTheKeyOfARequestThatNeverBeganRuns(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{StateDir: t.TempDir(), MaxRuns: 1}, func(w *world) {
		held := w.submit(ask("wait"))
		defer held.Close()
		synctest.Wait()
		first := w.submit(keyed("hi"))
		w.m.Stop("t", first.ConversationID(), "")
		second := w.submit(keyed("hi"))
		defer second.Close()
		first.Close()
		w.b.conv(held.ConversationID()).letGo()
		if res := w.mustRead(second); res.Answer != "re: hi" {
			t.Errorf("the result = %+v", res)
		}
		w.wantRuns(2)
		third := w.submit(keyed("hi"))
		defer third.Close()
		if !third.Replayed() {
			t.Error("the key ran twice")
		}
	})
}

func TestALateReaderKeepsItsAnswerToItself(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		a := w.submit(ask("hi"))
		w.wantRuns(1) // it has ended, and a reads on
		b := w.submit(ask("hi"))
		defer b.Close()
		w.wantRuns(2)
		w.mustRead(a)
		a.Delivered()
		c := w.submit(ask("hi")) // a has its last byte, and has not hung up
		defer c.Close()
		w.wantRuns(3)
		a.Close()
		d := w.submit(ask("hi"))
		defer d.Close()
		w.wantRuns(4)
	})
}

func TestALastFrameThatCouldNotBeWrittenIsOwed(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		a := w.submit(ask("hi"))
		w.mustRead(a)
		a.Delivered()
		a.Undelivered()
		a.Close()
		b, c := w.submit(ask("hi")), w.submit(ask("hi"))
		defer b.Close()
		defer c.Close()
		if !b.Replayed() || c.Replayed() {
			t.Errorf("replayed %v, %v; want the first only", b.Replayed(), c.Replayed())
		}
		w.wantRuns(2)
	})
}

// A client that comes back for its answer before it is missed does not leave an
// answer for a stranger.
func TestAMarkedRepeatComesForAClientThatIsMissedLater(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		a := w.submit(ask("wait"))
		synctest.Wait()
		req := ask("wait")
		req.Retry = true
		b := w.submit(req)
		w.b.conv(a.ConversationID()).letGo()
		w.mustRead(b)
		b.Delivered()
		b.Close()
		a.Close() // now its connection is seen to be dead
		c := w.submit(ask("wait"))
		defer c.Close()
		w.wantRuns(2)
	})
}

// The repeats of requests that were refused are runs of their own.
func TestARefusedSampleSharesNoRun(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 2, MaxQueue: 2}, func(w *world) {
		var in []*run.Attachment
		refused := 0
		for range 10 {
			a, err := w.m.Submit(w.t.Context(), ask("wait"))
			if errors.Is(err, run.ErrQueueFull) {
				refused++
				continue
			}
			in = append(in, a)
		}
		synctest.Wait()
		again := ask("wait")
		again.Retry = true
		for ; refused > 0; refused-- {
			a := in[0]
			in = in[1:]
			w.b.conv(a.ConversationID()).letGo()
			w.mustRead(a)
			a.Delivered()
			a.Close()
			synctest.Wait()
			b := w.submit(again)
			if b.Replayed() {
				t.Error("a sample was given the run of another one")
			}
			in = append(in, b)
			synctest.Wait()
		}
		for _, a := range in {
			synctest.Wait()
			w.b.conv(a.ConversationID()).letGo()
			w.mustRead(a)
			a.Close()
		}
		w.wantRuns(10)
	})
}

// A message that was there before its conversation was left is answered as
// soon as one that comes after.
func TestAMessageThatWaitsEndsTheGraceAtOnce(t *testing.T) {
	t.Parallel()
	for name, aim := range map[string]func(*run.Request, string){
		"in its conversation":         func(r *run.Request, id string) { r.ConversationID = id },
		"in one that takes its place": func(r *run.Request, id string) { r.ConversationID, r.Origin = uuid.New(), id },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, run.Config{}, func(w *world) {
				first := ask("wait")
				first.ConversationID = uuid.New()
				a := w.submit(first)
				synctest.Wait()
				next := ask("wait for me")
				aim(&next, first.ConversationID)
				b := w.submit(next)
				defer b.Close()
				time.Sleep(2 * time.Second)
				if w.b.conv(first.ConversationID).interrupted() != 0 {
					t.Fatal("interrupted while its client reads")
				}
				a.Close()
				synctest.Wait()
				if n := w.b.conv(first.ConversationID).interrupted(); n != 1 {
					t.Errorf("%d interrupts as soon as its client has gone, want 1", n)
				}
				w.wantRuns(2)
			})
		})
	}
}

func TestARequestThatWasGivenUpEndsNoGrace(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		first, next := ask("wait"), ask("go on")
		first.ConversationID = uuid.New()
		next.ConversationID = first.ConversationID
		a := w.submit(first)
		synctest.Wait()
		w.submit(next).Close()
		a.Close()
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if w.b.conv(first.ConversationID).interrupted() != 0 {
			t.Error("interrupted for somebody who had gone")
		}
	})
}

// What another token left does not concern a request.
func TestAnotherTokensRunIsNotEndedForACopy(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		first := ask("wait")
		first.ConversationID = uuid.New()
		w.submit(first).Close()
		synctest.Wait()
		theirs := ask("theirs")
		theirs.Token, theirs.ConversationID, theirs.Origin = "other", uuid.New(), first.ConversationID
		w.answered(theirs)
		if n := w.b.conv(first.ConversationID).interrupted(); n != 0 {
			t.Errorf("%d interrupts", n)
		}
	})
}

// Whoever repeats a request and wants its run to go on is heard.
func TestARepeatDetaches(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		a := w.submit(ask("wait"))
		synctest.Wait()
		a.Close()
		req := ask("wait")
		req.Detach = true
		w.submit(req).Close()
		time.Sleep(time.Hour)
		w.b.conv(a.ConversationID()).letGo()
		synctest.Wait()
		b := w.submit(ask("wait"))
		defer b.Close()
		if text, _, err := w.read(b); text != "partly done" || err != nil {
			t.Errorf(`the text = %q, want "partly done", %v`, text, err)
		}
		w.wantRuns(1)
	})
}
