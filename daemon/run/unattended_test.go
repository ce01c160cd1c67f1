package run_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
)

// orphan starts a run in a conversation and gives the state directory as it is
// for the next process when this one is killed now.
func (w *world) orphan(t *testing.T, req run.Request, state string) string {
	t.Helper()
	a := w.submit(req)
	t.Cleanup(a.Close)
	w.wantRuns(1)
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	return killed
}

// successor is a manager on the state directory of one that was killed, over
// the same backend. In a test the runs of the first go on, too.
func (w *world) successor(state string) *world {
	w.t.Helper()
	next := &world{t: w.t, b: w.b}
	next.start(run.Config{StateDir: state})
	w.t.Cleanup(next.stop)
	return next
}

func in(conversation, text string) run.Request {
	req := ask(text)
	req.ConversationID = conversation
	return req
}

func TestRunOfADeadProcessIsTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		id, state := uuid.New(), t.TempDir()
		w := &world{t: t, b: newBackend()}
		w.start(run.Config{StateDir: state})
		defer w.stop()
		next := w.successor(w.orphan(t, in(id, "wait"), state))
		if res := next.answered(in(id, "go on")); res.Answer != "re: go on" {
			t.Errorf("answer %q", res.Answer)
		}
		if n := w.b.conv(id).interrupted(); n != 1 {
			t.Errorf("the orphan was interrupted %d times", n)
		}
	})
}

func TestStopReachesTheRunOfADeadProcess(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*run.Request){
		"attached": func(*run.Request) {}, "detached": func(r *run.Request) { r.Detach = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				id, state := uuid.New(), t.TempDir()
				w := &world{t: t, b: newBackend()}
				w.start(run.Config{StateDir: state})
				defer w.stop()
				req := in(id, "wait")
				change(&req)
				next := w.successor(w.orphan(t, req, state))
				for i, tc := range []struct {
					token, conversation string
					want                bool
				}{{"other", id, false}, {"t", uuid.New(), false}, {"t", id, true}, {"t", id, false}} {
					stopped, err := next.m.StopUnattended(t.Context(), tc.token, tc.conversation)
					if stopped != tc.want || err != nil {
						t.Errorf("%d: stopped %v, %v, want %v", i, stopped, err, tc.want)
					}
				}
				if n := w.b.conv(id).interrupted(); n != 1 {
					t.Errorf("the run was interrupted %d times", n)
				}
			})
		})
	}
}

func TestRunOfADeadProcessThatMayGoOnIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(first, second *run.Request){
		"detached":      func(first, _ *run.Request) { first.Detach = true },
		"another token": func(_, second *run.Request) { second.Token = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				id, state := uuid.New(), t.TempDir()
				w := &world{t: t, b: newBackend()}
				w.start(run.Config{StateDir: state})
				defer w.stop()
				first, second := in(id, "wait"), in(id, "go on")
				change(&first, &second)
				next := w.successor(w.orphan(t, first, state))
				a := next.submit(second)
				defer a.Close()
				time.Sleep(time.Hour)
				next.wantRuns(1)
				w.b.conv(id).letGo()
				if res := next.mustRead(a); res.Answer != "re: go on" || w.b.conv(id).interrupted() != 0 {
					t.Errorf("answer %q, interrupted %d times", res.Answer, w.b.conv(id).interrupted())
				}
			})
		})
	}
}

func TestRunOfSomebodyElseIsWaitedFor(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		id := uuid.New()
		w.answered(in(id, "hello"))
		if err := (handle{w.b.conv(id), false}).Send(t.Context(), agentapi.Message{Text: "wait, says a browser"}); err != nil {
			t.Fatal(err)
		}
		a := w.submit(in(id, "go on"))
		defer a.Close()
		w.wantRuns(2)
		w.b.conv(id).letGo()
		if res := w.mustRead(a); res.Answer != "re: go on" || w.b.conv(id).interrupted() != 0 {
			t.Errorf("answer %q, interrupted %d times", res.Answer, w.b.conv(id).interrupted())
		}
	})
}

// A run of a dead process that ended unseen is over. The run that is at work by now belongs to
// another client, whom neither a stop nor the next request of the token disturbs.
func TestRunOfSomebodyElseAfterThatOfADeadProcessGoesOn(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(*conv){
		"with an answer": (*conv).letGo,
		"stopped":        func(c *conv) { _ = c.Interrupt(context.Background()) },
		"by a failure":   func(c *conv) { c.tell(event.Failed) },
		"never began":    func(c *conv) { c.dies(0, event.Idle) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				id, state := uuid.New(), t.TempDir()
				w := &world{t: t, b: newBackend()}
				w.start(run.Config{StateDir: state})
				defer w.stop()
				next := w.successor(w.orphan(t, in(id, "wait"), state))
				c := w.b.conv(id)
				ends(c)
				stops := c.interrupted()
				if err := (handle{c, false}).Send(t.Context(), agentapi.Message{Text: "wait, says a browser"}); err != nil {
					t.Fatal(err)
				}
				if stopped, err := next.m.StopUnattended(t.Context(), "t", id); stopped || err != nil {
					t.Errorf("a stop: %v, %v", stopped, err)
				}
				a := next.submit(in(id, "go on"))
				defer a.Close()
				time.Sleep(time.Minute)
				if n := c.interrupted() - stops; n != 0 {
					t.Fatalf("the run of a browser was interrupted %d times", n)
				}
				c.letGo()
				if res := next.mustRead(a); res.Answer != "re: go on" {
					t.Errorf("the result = %+v", res)
				}
			})
		})
	}
}

func TestEndedRunsLeaveNoMark(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	inBubble(t, run.Config{StateDir: state}, func(w *world) {
		w.answered(in(uuid.New(), "hello"))
		w.answered(ask("a one-shot"))
		_, _, _ = w.read(w.submit(in(uuid.New(), "fail")))
		a := w.submit(in(uuid.New(), "wait"))
		a.Close()
		time.Sleep(time.Minute)
		marks, err := filepath.Glob(filepath.Join(state, "running", "*"))
		if err != nil || len(marks) != 0 {
			t.Errorf("marks %v, %v", marks, err)
		}
	})
}

// Runs that end with this process leave nothing for the next one to find.
func TestRunsInThisProcessHaveNoMark(t *testing.T) {
	t.Parallel()
	for _, inProcess := range []bool{false, true} {
		state := t.TempDir()
		inBubble(t, run.Config{StateDir: state, InProcess: inProcess}, func(w *world) {
			a := w.submit(in(uuid.New(), "wait"))
			defer a.Close()
			w.wantRuns(1)
			marks, err := filepath.Glob(filepath.Join(state, "running", "*"))
			if err != nil || (len(marks) == 0) != inProcess {
				t.Errorf("in this process %t: marks %v, %v", inProcess, marks, err)
			}
		})
	}
}
