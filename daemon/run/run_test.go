package run_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestMain(m *testing.M) { waittest.Main(m) }

// world is a manager before the scripted backend, in a bubble of its own time.
type world struct {
	t *testing.T
	b *backend
	m *run.Manager
}

func inBubble(t *testing.T, cfg run.Config, f func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, b: newBackend()}
		w.start(cfg)
		defer w.stop()
		f(w)
	})
}

func (w *world) start(cfg run.Config) {
	w.t.Helper()
	if cfg.Backend == nil {
		cfg.Backend = w.b
	}
	m, err := run.New(cfg)
	if err != nil {
		w.t.Fatalf("New: %v", err)
	}
	w.m = m
}

func (w *world) stop() {
	w.t.Helper()
	if err := w.m.Close(); err != nil {
		w.t.Errorf("Close: %v", err)
	}
}

func ask(text string) run.Request {
	return run.Request{
		Asker: run.Asker{Access: run.Access{Token: "t"}, Fingerprint: sha256.Sum256([]byte(text))},
		Terms: run.Terms{Profile: "p", ProfileRevision: "1"},
		Words: run.Words{Message: agentapi.Message{Text: text}},
	}
}

func (w *world) submit(req run.Request) *run.Attachment {
	w.t.Helper()
	a, err := w.m.Submit(w.t.Context(), req)
	if err != nil {
		w.t.Fatalf("Submit(%q): %v", req.Message.Text, err)
	}
	return a
}

// read takes everything to the end of the job.
func (w *world) read(a *run.Attachment) (string, turn.Result, error) {
	w.t.Helper()
	var text strings.Builder
	for {
		u, err := a.Next(w.t.Context())
		if errors.Is(err, io.EOF) {
			res, err := a.Result()
			return text.String(), res, err
		}
		if err != nil {
			w.t.Fatalf("Next: %v", err)
		}
		if u.Kind == turn.Text {
			text.WriteString(u.Text)
		}
	}
}

// mustRead takes everything to an end without an error.
func (w *world) mustRead(a *run.Attachment) turn.Result {
	w.t.Helper()
	_, res, err := w.read(a)
	if err != nil {
		w.t.Fatalf("Result: %v", err)
	}
	return res
}

// answered submits, reads to the end and delivers.
func (w *world) answered(req run.Request) turn.Result {
	w.t.Helper()
	a := w.submit(req)
	defer a.Close()
	res := w.mustRead(a)
	a.Delivered()
	return res
}

func (w *world) wantRuns(want int) {
	w.t.Helper()
	synctest.Wait()
	if got, _ := w.b.counts(); got != want {
		w.t.Fatalf("the agent ran %d times, want %d", got, want)
	}
}

func TestAnswerArrivesWithItsText(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		a := w.submit(ask("hello"))
		defer a.Close()
		text, res, err := w.read(a)
		if text != "re: hello" || res.Answer != "re: hello" || err != nil {
			t.Errorf("got %q, %+v, %v", text, res, err)
		}
		if _, err := uuid.Parse(a.ConversationID()); err != nil {
			t.Errorf("conversation id %q: %v", a.ConversationID(), err)
		}
	})
}

func TestTwoConnectedClientsAreTwoRuns(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		a, b := w.submit(ask("wait")), w.submit(ask("wait"))
		defer a.Close()
		defer b.Close()
		w.wantRuns(2)
		if a.ConversationID() == b.ConversationID() || b.Replayed() {
			t.Error("the second client was given the first one's run")
		}
	})
}

func TestMarkedRepeatJoinsTheRunInFlight(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		a := w.submit(ask("wait"))
		defer a.Close()
		synctest.Wait()
		req := ask("wait")
		req.Retry = true
		b := w.submit(req)
		defer b.Close()
		w.b.conv(a.ConversationID()).letGo()
		for _, x := range []*run.Attachment{a, b} {
			if text, _, err := w.read(x); text != "partly done" || err != nil {
				t.Errorf("got %q, %v", text, err)
			}
		}
		w.wantRuns(1)
		if !b.Replayed() {
			t.Error("the repeat does not say that it is one")
		}
	})
}

func TestUnmarkedRepeatJoinsWhenTheClientIsGone(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		a := w.submit(ask("wait"))
		synctest.Wait()
		a.Close()
		time.Sleep(9 * time.Second)
		b := w.submit(ask("wait"))
		defer b.Close()
		time.Sleep(time.Minute) // a client is there again: no grace runs
		w.b.conv(a.ConversationID()).letGo()
		if text, _, err := w.read(b); text != "partly done" || err != nil {
			t.Errorf("got %q, %v", text, err)
		}
		w.wantRuns(1)
	})
}

func TestRunIsInterruptedAfterTheGrace(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		a := w.submit(ask("wait"))
		synctest.Wait()
		a.Close()
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if s := w.m.Stats(); s.Running != 0 {
			t.Fatalf("still running: %+v", s)
		}
		b := w.submit(ask("wait")) // a stopped run does not answer a repeat
		defer b.Close()
		w.wantRuns(2)
	})
}

func TestDetachedRunGoesOn(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		req := ask("wait")
		req.Detach = true
		a := w.submit(req)
		synctest.Wait()
		a.Close()
		time.Sleep(time.Hour)
		if s := w.m.Stats(); s.Running != 1 {
			t.Fatalf("not running: %+v", s)
		}
		b := w.submit(req)
		defer b.Close()
		w.b.conv(a.ConversationID()).letGo()
		if text, _, _ := w.read(b); text != "partly done" {
			t.Errorf("got %q", text)
		}
		w.wantRuns(1)
	})
}

func TestAnotherRequestEndsTheGraceAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		first, second := ask("wait"), ask("go on")
		first.ConversationID = uuid.New()
		second.ConversationID = first.ConversationID
		a := w.submit(first)
		synctest.Wait()
		a.Close()
		begin := time.Now()
		if res := w.answered(second); res.Answer != "re: go on" {
			t.Errorf("answer %q", res.Answer)
		}
		if waited := time.Since(begin); waited > time.Second {
			t.Errorf("waited %s for a client that was gone", waited)
		}
	})
}

func TestUndeliveredAnswerIsForTheNextWhoAsks(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		w.submit(ask("hi")).Close()
		time.Sleep(29 * time.Second)
		a := w.submit(ask("hi"))
		if text, _, _ := w.read(a); text != "re: hi" {
			t.Errorf("got %q", text)
		}
		a.Close() // not delivered either
		w.wantRuns(1)
		time.Sleep(2 * time.Second)
		req := ask("hi")
		req.Retry = true
		marked := w.submit(req)
		marked.Close()
		w.wantRuns(1)
		w.submit(ask("hi")).Close()
		w.wantRuns(2)
	})
}

func TestDeliveredAnswerIsNotRepeated(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		w.answered(ask("hi"))
		w.answered(ask("hi"))
		w.wantRuns(2)
	})
}

func TestRetryLoopWithGrowingPausesRunsOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		for _, pause := range []time.Duration{0, 1, 2, 4, 8, 16, 32} {
			time.Sleep(pause * time.Second)
			if res := w.answered(ask("fail")); res.Outcome != turn.Failed {
				t.Fatalf("outcome %v", res.Outcome)
			}
		}
		w.wantRuns(1)
	})
}

func TestFailureIsForgotten(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		pause  time.Duration
		change func(*run.Request)
		runs   int
	}{
		{"not within 10 s", 9 * time.Second, nil, 1},
		{"after 10 s", 11 * time.Second, nil, 2},
		{"at once when the profile has changed", time.Second, func(r *run.Request) { r.ProfileRevision = "2" }, 2},
		{"at once when a new run is asked for", time.Second, func(r *run.Request) { r.Fresh = true }, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, run.Config{}, func(w *world) {
				w.answered(ask("fail"))
				time.Sleep(tt.pause)
				req := ask("fail")
				if tt.change != nil {
					tt.change(&req)
				}
				w.answered(req)
				w.wantRuns(tt.runs)
			})
		})
	}
}

// TestTheSlowestRetryLoopRunsOnce pauses as LangChain for JavaScript does at
// its slowest: twice as long each time, from 2 s to 64 s.
func TestTheSlowestRetryLoopRunsOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		w.answered(ask("fail"))
		for pause := 2 * time.Second; pause <= 64*time.Second; pause *= 2 {
			time.Sleep(pause)
			w.answered(ask("fail"))
		}
		w.wantRuns(1)
	})
}

func TestEndlessRetriesRunAgainAfterFiveMinutes(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		for range 12 { // every 30 s
			w.answered(ask("fail"))
			time.Sleep(9 * time.Second)
		}
		w.wantRuns(1)
		for range 30 {
			w.answered(ask("fail"))
			time.Sleep(9 * time.Second)
		}
		w.wantRuns(2)
	})
}

func TestNothingStartedIsNotRemembered(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		w.b.openErr = &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "down"}
		a := w.submit(ask("hi"))
		if _, _, err := w.read(a); !errors.Is(err, agentapi.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
		a.Delivered()
		a.Close()
		w.b.openErr = nil
		w.answered(ask("hi"))
		w.wantRuns(1)
	})
}

func TestOneConversationRunsInOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		id := uuid.New()
		in := func(text string) run.Request {
			r := ask(text)
			r.ConversationID = id
			return r
		}
		first := w.submit(in("wait"))
		defer first.Close()
		synctest.Wait()
		var rest []*run.Attachment
		for i := range 8 {
			rest = append(rest, w.submit(in(string(rune('a'+i)))))
		}
		if _, err := w.m.Submit(w.t.Context(), in("one too many")); !errors.Is(err, run.ErrConversationBusy) {
			t.Errorf("error %v, want ErrConversationBusy", err)
		}
		w.wantRuns(1)
		w.b.conv(id).letGo()
		for _, a := range rest {
			if _, _, err := w.read(a); err != nil {
				t.Error(err)
			}
			a.Close()
		}
		if got, want := strings.Join(w.b.conv(id).texts, ""), "waitabcdefgh"; got != want {
			t.Errorf("order %q, want %q", got, want)
		}
	})
}

func TestRunsAreLimited(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 2, MaxQueue: 1}, func(w *world) {
		a, b, c := w.submit(ask("wait 1")), w.submit(ask("wait 2")), w.submit(ask("3"))
		defer a.Close()
		defer b.Close()
		defer c.Close()
		w.wantRuns(2)
		if s := w.m.Stats(); s.Running != 2 || s.Queued != 1 {
			t.Errorf("stats %+v", s)
		}
		if _, err := w.m.Submit(w.t.Context(), ask("4")); !errors.Is(err, run.ErrQueueFull) {
			t.Errorf("error %v, want ErrQueueFull", err)
		}
		w.b.conv(a.ConversationID()).letGo()
		if text, _, _ := w.read(c); text != "re: 3" {
			t.Errorf("got %q", text)
		}
		w.wantRuns(3)
	})
}

// A pool has as many runs as slots, unless the user has set a number.
func TestRunsOfAPoolAreLimitedByItsSlots(t *testing.T) {
	t.Parallel()
	for bySlots, running := range map[bool]int{true: 3, false: 1} {
		inBubble(t, run.Config{MaxRuns: 1, BySlots: bySlots, MaxQueue: 8}, func(w *world) {
			w.b.setSlots(3)
			for range 4 {
				defer w.submit(ask("wait")).Close()
			}
			w.wantRuns(running)
			if s := w.m.Stats(); s.Running != running || s.Queued != 4-running {
				t.Errorf("runs by slots %v = %+v, want %d that run", bySlots, s, running)
			}
		})
	}
}

func TestAQueuedRequestKnowsItsPlace(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 1}, func(w *world) {
		held := w.submit(ask("wait 1"))
		defer held.Close()
		synctest.Wait()
		shared := ask("a")
		shared.ConversationID = uuid.New()
		next := ask("b")
		next.ConversationID = shared.ConversationID
		first, second, third := w.submit(shared), w.submit(next), w.submit(ask("c"))
		places := func() [4]int { return [4]int{held.Queue(), first.Queue(), second.Queue(), third.Queue()} }
		// The second waits for the first in its conversation, and has no place
		// among those that wait for a slot yet.
		if got, want := places(), [4]int{0, 1, 2, 2}; got != want {
			t.Errorf("places %v, want %v", got, want)
		}
		third.Close()
		w.b.conv(held.ConversationID()).letGo()
		for _, a := range []*run.Attachment{first, second} {
			if _, _, err := w.read(a); err != nil {
				t.Error(err)
			}
			a.Close()
		}
		if got, want := places(), [4]int{}; got != want {
			t.Errorf("places at the end %v, want %v", got, want)
		}
	})
}

func TestLeavingTheQueueStartsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 1}, func(w *world) {
		a := w.submit(ask("wait"))
		synctest.Wait()
		w.submit(ask("never")).Close()
		time.Sleep(11 * time.Second)
		w.b.conv(a.ConversationID()).letGo()
		a.Close()
		w.wantRuns(1)
		w.answered(ask("next")) // the slot was not lost
	})
}

func TestTimeoutInterrupts(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{RunTimeout: time.Hour}, func(w *world) {
		req := ask("wait")
		req.Timeout = 5 * time.Second
		a := w.submit(req)
		defer a.Close()
		text, res, err := w.read(a)
		if timeout, ok := errors.AsType[*run.TimeoutError](err); !ok || timeout.After != 5*time.Second {
			t.Errorf("error %v", err)
		}
		if text != "partly" || res.Outcome != turn.Interrupted {
			t.Errorf("got %q, %+v", text, res)
		}
	})
}

func TestOneShotIsRemovedAfterItsTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, run.Config{OneShotTTL: time.Minute, StateDir: dir, WorkspaceRoot: dir}, func(w *world) {
		a := w.submit(ask("hi"))
		if err := os.Mkdir(filepath.Join(dir, a.ConversationID()), 0o700); err != nil {
			t.Fatal(err)
		}
		w.mustRead(a)
		a.Close()
		time.Sleep(59 * time.Second)
		if _, convs := w.b.counts(); convs != 1 {
			t.Error("removed too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, convs := w.b.counts(); convs != 0 {
			t.Error("not removed")
		}
		if _, err := os.Stat(filepath.Join(dir, a.ConversationID())); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("workspace: %v", err)
		}
	})
}

// What a backend keeps for a workspace goes with it, by every way that a conversation
// ends.
func TestWhatIsKeptForAWorkspaceGoesWithIt(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, id string) error{
		"its time is over": func(*world, string) error { time.Sleep(2 * time.Minute); synctest.Wait(); return nil },
		"it is removed": func(w *world, id string) error {
			return w.m.Remove(t.Context(), run.Access{Person: true}, id)
		},
		"no agent has it": func(w *world, id string) error { return w.m.Discard(id) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var tidied []string
			cfg := run.Config{OneShotTTL: time.Minute, StateDir: dir, WorkspaceRoot: dir, Tidy: func(workspace string) error {
				if _, err := os.Stat(workspace); err != nil {
					return err
				}
				tidied = append(tidied, workspace)
				return errors.New("the first failure is no reason to keep the workspace")
			}}
			inBubble(t, cfg, func(w *world) {
				a := w.submit(ask("hi"))
				at := filepath.Join(dir, a.ConversationID())
				if err := os.Mkdir(at, 0o700); err != nil {
					t.Fatal(err)
				}
				w.mustRead(a)
				a.Close()
				if err := end(w, a.ConversationID()); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) || len(tidied) != 1 || tidied[0] != at {
					t.Errorf("workspace: %v; tidied %q", err, tidied)
				}
			})
		})
	}
}

func TestContinuingAOneShotKeepsIt(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{OneShotTTL: time.Minute}, func(w *world) {
		a := w.submit(ask("hi"))
		w.mustRead(a)
		a.Close()
		req := ask("more")
		req.ConversationID = a.ConversationID()
		w.answered(req)
		time.Sleep(time.Hour)
		if _, convs := w.b.counts(); convs != 1 {
			t.Error("a conversation that was continued was removed")
		}
	})
}

func TestOneShotsOfAnEarlierProcessAreRemoved(t *testing.T) {
	t.Parallel()
	cfg := run.Config{OneShotTTL: time.Minute, StateDir: t.TempDir()}
	inBubble(t, cfg, func(w *world) {
		a, b := w.submit(ask("hi")), w.submit(ask("wait"))
		w.mustRead(a)
		synctest.Wait() // until the other one is open, too
		a.Close()
		b.Close()
		w.stop()
		w.start(cfg)
		if _, convs := w.b.counts(); convs != 2 {
			t.Fatalf("%d conversations", convs)
		}
		time.Sleep(2 * time.Minute)
		if _, convs := w.b.counts(); convs != 0 {
			t.Errorf("%d conversations are left", convs)
		}
	})
}

func TestOneShotWhoseRunWasCutOffStaysForItsClient(t *testing.T) {
	t.Parallel()
	cfg := run.Config{OneShotTTL: -1, StateDir: t.TempDir()}
	inBubble(t, cfg, func(w *world) {
		id := uuid.New()
		w.b.convs[id] = &conv{b: w.b, id: id}
		w.stop()
		journal := filepath.Join(cfg.StateDir, "one-shots.jsonl")
		line := `{"id":"` + id + `"}` + "\n" + `{"id":"../../etc"}` + "\n" + `{"id":"cut o`
		if err := os.WriteFile(journal, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		w.start(cfg)
		time.Sleep(14 * time.Minute)
		if _, convs := w.b.counts(); convs != 1 {
			t.Error("removed while its client may come back")
		}
		time.Sleep(2 * time.Minute)
		if _, convs := w.b.counts(); convs != 0 {
			t.Error("not removed")
		}
	})
}

func TestManyOneShotsLeaveNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, run.Config{OneShotTTL: -1, StateDir: dir}, func(w *world) {
		for i := range 1000 {
			w.answered(ask("hi " + string(rune(i))))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, convs := w.b.counts(); convs != 0 {
			t.Errorf("%d conversations are left", convs)
		}
		if n := w.m.Remembered(); n != 0 {
			t.Errorf("%d jobs are remembered", n)
		}
	})
}

func TestDrainLetsRunsFinishAndRefusesNewOnes(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{}, func(w *world) {
		a := w.submit(ask("wait"))
		defer a.Close()
		synctest.Wait()
		go func() {
			time.Sleep(3 * time.Second)
			w.b.conv(a.ConversationID()).letGo()
		}()
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
		defer cancel()
		w.m.Drain(ctx)
		if text, _, err := w.read(a); text != "partly done" || err != nil {
			t.Errorf("got %q, %v", text, err)
		}
		if _, err := w.m.Submit(w.t.Context(), ask("hi")); !errors.Is(err, run.ErrDraining) {
			t.Errorf("error %v, want ErrDraining", err)
		}
	})
}

func TestDrainInterruptsWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 1}, func(w *world) {
		a, queued := w.submit(ask("wait")), w.submit(ask("hi"))
		defer a.Close()
		defer queued.Close()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
		defer cancel()
		w.m.Drain(ctx)
		if _, _, err := w.read(a); !errors.Is(err, run.ErrInterrupted) {
			t.Errorf("running: %v, want ErrInterrupted", err)
		}
		if _, _, err := w.read(queued); !errors.Is(err, run.ErrDraining) {
			t.Errorf("queued: %v, want ErrDraining", err)
		}
		w.wantRuns(1)
	})
}

// Who has the end of a run sends the next request at once: it must not wait
// behind the run that is over, nor find its place taken.
func TestTheEndIsToldWhenThePlaceIsFree(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 1, MaxQueue: -1}, func(w *world) {
		id := uuid.New()
		for i := range 500 {
			req := ask(strconv.Itoa(i))
			req.ConversationID = id
			w.answered(req)
			if s := w.m.Stats(); s != (run.Stats{}) {
				w.t.Fatalf("after turn %d: %+v", i, s)
			}
		}
	})
}

// Who is refused because the conversation does not open knows it by another way than who
// has an answer.
func TestARefusalIsToldWhenThePlaceIsFree(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 1, MaxQueue: -1}, func(w *world) {
		id := uuid.New()
		w.b.openErr = &agentapi.Error{Kind: agentapi.ErrConversationNotFound}
		for i := range 500 {
			req := ask(strconv.Itoa(i))
			req.ConversationID = id
			if _, err := w.m.Submit(w.t.Context(), req); !errors.Is(err, agentapi.ErrConversationNotFound) {
				w.t.Fatalf("request %d: %v", i, err)
			}
			if s := w.m.Stats(); s != (run.Stats{}) {
				w.t.Fatalf("after request %d: %+v", i, s)
			}
		}
	})
}

func TestContinuedConversation(t *testing.T) {
	t.Parallel()
	begin := func(w *world) run.Request {
		req := ask("first")
		req.ConversationID, req.System = uuid.New(), "be brief"
		w.answered(req)
		next := ask("second")
		next.ConversationID, next.System = req.ConversationID, "be brief"
		return next
	}
	t.Run("same system text has its effect", func(t *testing.T) {
		t.Parallel()
		inBubble(t, run.Config{}, func(w *world) {
			a := w.submit(begin(w))
			defer a.Close()
			if got := a.Ignored(); len(got) != 0 {
				t.Errorf("ignored %v", got)
			}
		})
	})
	t.Run("another system text is named", func(t *testing.T) {
		t.Parallel()
		inBubble(t, run.Config{}, func(w *world) {
			req := begin(w)
			req.System = "be long"
			a := w.submit(req)
			defer a.Close()
			if got := a.Ignored(); len(got) != 1 || got[0] != "system" {
				t.Errorf("ignored %v", got)
			}
		})
	})
	t.Run("another profile is switched to", func(t *testing.T) {
		t.Parallel()
		inBubble(t, run.Config{}, func(w *world) {
			req := begin(w)
			req.Profile = "q"
			w.answered(req)
			if got := w.b.conv(req.ConversationID).profile; got != "q" {
				t.Errorf("profile %q", got)
			}
		})
	})
	t.Run("another profile is refused before anything is sent", func(t *testing.T) {
		t.Parallel()
		inBubble(t, run.Config{}, func(w *world) {
			req := begin(w)
			req.Profile, w.b.fixed = "q", true
			if _, err := w.m.Submit(w.t.Context(), req); !errors.Is(err, agentapi.ErrUnsupported) {
				t.Errorf("error %v", err)
			}
			w.wantRuns(1)
		})
	})
	t.Run("quoted history goes to new conversations only", func(t *testing.T) {
		t.Parallel()
		inBubble(t, run.Config{}, func(w *world) {
			req := ask("first")
			req.ConversationID, req.Quoted = uuid.New(), "earlier: "
			w.answered(req)
			req.Message.Text, req.Fingerprint = "second", run.Fingerprint{2}
			w.answered(req)
			if got := strings.Join(w.b.conv(req.ConversationID).texts, "|"); got != "earlier: first|second" {
				t.Errorf("texts %q", got)
			}
		})
	})
}
