package agentserver_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/uuid"
)

// alreadyRuns is what a server says to a run beside another one.
const alreadyRuns = `{"detail":"Conversation already running. Wait for completion or pause first."}`

// lostLease is what a server says to a write after another server took the conversation.
const lostLease = `{"detail":"Conversation is owned by another agent server instance; the write was refused"}`

// openFenced opens a conversation that takes its message and its run apart.
func (w *world) openFenced(t *testing.T) agentapi.Fenced {
	t.Helper()
	c, ok := w.open(t).(agentapi.Fenced)
	if !ok {
		t.Fatal("the conversation has no Append and no Start")
	}
	return c
}

func (w *world) append(t *testing.T, c agentapi.Fenced, text string) {
	t.Helper()
	if err := c.Append(t.Context(), agentapi.Message{Text: text}); err != nil {
		t.Fatalf("Append: %v", err)
	}
}

// answers counts what the agent has said in a log.
func answers(log []event.Event) (n int) {
	for _, e := range log {
		if _, ok := e.Body.(*event.Message); ok && e.Source == event.SourceAgent {
			n++
		}
	}
	return n
}

func TestAppendSaysWhatBecameOfTheMessage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault func(w *world, path string)
		want  error
		sent  int // messages in the log
	}{
		{"well", func(*world, string) {}, nil, 1},
		{"the answer is lost", func(w *world, path string) { w.LoseAnswer("POST", path, 1) }, nil, 1},
		{"the request is lost", func(w *world, path string) { w.LoseRequest("POST", path, 1) }, agentapi.ErrUncertain, 0},
		{"the lease is lost", func(w *world, path string) { w.Fail("POST", path, 1, 409, lostLease) }, agentapi.ErrRefused, 0},
		{"the server is dead", func(w *world, _ string) { w.Kill() }, agentapi.ErrUnavailable, 0},
		{"the conversation is gone", func(w *world, path string) {
			w.Fail("POST", path, 1, 404, `{"detail":"Conversation not found: x"}`)
		}, agentapi.ErrConversationNotFound, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{MaxRuns: 1}, func(t *testing.T, w *world) {
				c := w.openFenced(t)
				tt.fault(w, "/"+c.Info().ID+"/events")
				err := c.Append(t.Context(), agentapi.Message{Text: "go"})
				if !errors.Is(err, tt.want) {
					t.Fatalf("Append: %v, want %v", err, tt.want)
				}
				synctest.Wait()
				if got := len(questions(w.Log(c.Info().ID))); got != tt.sent {
					t.Errorf("%d messages in the log, want %d", got, tt.sent)
				}
				if n := answers(w.Log(c.Info().ID)); n != 0 || w.Runs() != 0 {
					t.Errorf("Append has started a run: %d answers", n)
				}
			})
		})
	}
}

func TestStartSaysWhatBecameOfTheRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault func(w *world, path string)
		want  error
		runs  int // that answered
	}{
		{"well", func(*world, string) {}, nil, 1},
		{"the answer is lost", func(w *world, path string) { w.LoseAnswer("POST", path, 1) }, nil, 1},
		{"the request is lost", func(w *world, path string) { w.LoseRequest("POST", path, 1) }, agentapi.ErrUncertain, 0},
		{"a proxy lost the request", func(w *world, path string) {
			w.Fail("POST", path, 1, 502, "<h1>Bad Gateway</h1>")
		}, agentapi.ErrUncertain, 0},
		{"the run of before has not ended", func(w *world, path string) { w.Fail("POST", path, 3, 409, alreadyRuns) }, nil, 1},
		{"a run does not end", func(w *world, path string) { w.Fail("POST", path, 1000, 409, alreadyRuns) }, agentapi.ErrBusy, 0},
		{"the lease is lost", func(w *world, path string) { w.Fail("POST", path, 1, 409, lostLease) }, agentapi.ErrRefused, 0},
		{"the server is dead", func(w *world, _ string) { w.Kill() }, agentapi.ErrUnavailable, 0},
		{"the conversation is gone", func(w *world, path string) {
			w.Fail("POST", path, 1, 404, `{"detail":"Conversation not found: x"}`)
		}, agentapi.ErrConversationNotFound, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
				c := w.openFenced(t)
				w.append(t, c, "go")
				tt.fault(w, "/"+c.Info().ID+"/run")
				began := time.Now()
				if err := c.Start(t.Context()); !errors.Is(err, tt.want) {
					t.Fatalf("Start: %v, want %v", err, tt.want)
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("it took %v", took)
				}
				time.Sleep(time.Minute)
				if n := answers(w.Log(c.Info().ID)); n != tt.runs {
					t.Errorf("%d answers, want %d", n, tt.runs)
				}
			})
		})
	}
}

// TestStartWaitsForARunOnlyAsLongAsItsContext has a run of before that does not end.
func TestStartWaitsForARunOnlyAsLongAsItsContext(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		c := w.openFenced(t)
		w.append(t, c, "go")
		w.Fail("POST", "/run", 1000, 409, alreadyRuns)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := c.Start(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, agentapi.ErrBusy) {
			t.Errorf("Start: %v", err)
		}
	})
}

// TestAStartWithoutRoomCanBeCalledAgain has a server that is full. The message stays
// in the log, once.
func TestAStartWithoutRoomCanBeCalledAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{MaxRuns: 1}, func(t *testing.T, w *world) {
		c := w.openFenced(t)
		release := w.occupy(t)
		w.append(t, c, "go")
		err := c.Start(t.Context())
		full, ok := errors.AsType[*agentapi.FullError](err)
		if !errors.Is(err, agentapi.ErrFull) || !ok || !full.Stored {
			t.Fatalf("Start: %v, want %v with a stored message", err, agentapi.ErrFull)
		}
		if n := w.backend.Room(); n != 1 {
			t.Errorf("Room() = %d after a Start that was refused, want 1", n)
		}
		release()
		synctest.Wait()
		for range 2 {
			if err := c.Start(t.Context()); err != nil {
				t.Fatalf("Start: %v", err)
			}
			synctest.Wait()
		}
		log := w.Log(c.Info().ID)
		if got := questions(log); !slices.Equal(got, []string{"go"}) || answers(log) != 1 {
			t.Errorf("messages %q, %d answers", got, answers(log))
		}
	})
}

// TestAFenceIsAskedBeforeEachAttempt gives up a run that waited for room when the fence
// falls.
func TestAFenceIsAskedBeforeEachAttempt(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{MaxRuns: 1}, func(t *testing.T, w *world) {
		c := w.openFenced(t)
		release := w.occupy(t)
		w.append(t, c, "go")
		full, ok := errors.AsType[*agentapi.FullError](c.Start(t.Context()))
		if !ok {
			t.Fatal("the server has room")
		}
		asked := 0
		before := len(w.Calls("POST", "/"+c.Info().ID+"/run"))
		err := full.Again(t.Context(), func(context.Context) error {
			if asked++; asked == 5 {
				return errFence
			}
			return nil
		})
		if !errors.Is(err, errFence) {
			t.Errorf("Again: %v, want %v", err, errFence)
		}
		if n := len(w.Calls("POST", "/"+c.Info().ID+"/run")) - before; n != 4 {
			t.Errorf("%d attempts, want 4", n)
		}
		release()
		time.Sleep(time.Hour)
		if n := answers(w.Log(c.Info().ID)); n != 0 {
			t.Errorf("%d answers to a run that was given up", n)
		}
	})
}

var errFence = errors.New("the run has another owner")

// TestAStartAcceptsNothing: what waits for confirmation is not accepted by a call that
// came twice.
func TestAStartAcceptsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.Configure(func(_, conversation map[string]any) { conversation["confirmation_mode"] = true })
		w.model.then(tool("", "echo hi"))
		c := w.openFenced(t)
		w.append(t, c, "go")
		for range 3 {
			if err := c.Start(t.Context()); err != nil {
				t.Fatalf("Start: %v", err)
			}
			synctest.Wait()
		}
		state, err := c.State(t.Context())
		if err != nil || state.Status != event.Waiting {
			t.Errorf("status %q, %v", state.Status, err)
		}
	})
}

// TestAForkCountsWithTwoCalls: the LLM of a fork is handed over between its first message
// and the run, as it is by Send.
func TestAForkCountsWithTwoCalls(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		c := w.open(t)
		run(t, c)
		second, err := c.Fork(t.Context(), agentapi.ForkRequest{ID: uuid.New()})
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		f, ok := second.(agentapi.Fenced)
		if !ok {
			t.Fatal("a copy has no Append and no Start")
		}
		w.append(t, f, "go")
		if err := f.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		state, err := second.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if u := turn.UsageOf(state.Stats); u.PromptTokens == 0 {
			t.Errorf("the copy counts %+v", u)
		}
		if got := questions(w.Log(second.Info().ID)); !slices.Equal(got, []string{"go", "go"}) {
			t.Errorf("the log has the messages %q", got)
		}
	})
}
