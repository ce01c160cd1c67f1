package turn_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conversation is one whose stream and answers are in the hands of the test.
type conversation struct {
	agentapi.Conversation // what is not used is not there
	log

	first  event.State // of every watch
	after  string      // as Watch was last asked
	watch  error
	events chan event.Event
	lost   error // what Next says when events is closed

	send, decide, interrupt func(context.Context) error // nil: they work

	mu    sync.Mutex
	calls []string
}

func (c *conversation) note(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
}

func (c *conversation) called() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

func (c *conversation) Watch(_ context.Context, after string) (agentapi.Stream, error) {
	c.after = after
	if c.watch != nil {
		return nil, c.watch
	}
	return &stream{c: c}, nil
}

func (c *conversation) Send(ctx context.Context, m agentapi.Message) error {
	c.note("send " + m.Text)
	if c.send == nil {
		return nil
	}
	return c.send(ctx)
}

func (c *conversation) Decide(ctx context.Context, d agentapi.Decision) error {
	if d.Accept {
		c.note("accept")
	} else {
		c.note("reject " + d.Reason)
	}
	if c.decide == nil {
		return nil
	}
	return c.decide(ctx)
}

func (c *conversation) Interrupt(ctx context.Context) error {
	c.note("interrupt")
	if c.interrupt == nil {
		return nil
	}
	return c.interrupt(ctx)
}

// stream begins with the conversation's first state.
type stream struct {
	c     *conversation
	begun bool
}

func (s *stream) Next(ctx context.Context) (event.Event, error) {
	if !s.begun {
		s.begun = true
		return s.c.snapshot(s.c.first), nil
	}
	select {
	case e, ok := <-s.c.events:
		if !ok {
			return event.Event{}, s.c.lost
		}
		return e, nil
	case <-ctx.Done():
		return event.Event{}, ctx.Err()
	}
}

func (s *stream) Close() error { s.c.note("close"); return nil }

func newConversation(first event.Status) *conversation {
	return &conversation{first: event.State{Status: first, LeafEventID: "leaf"}, events: make(chan event.Event, 64)}
}

// say lets events come.
func (c *conversation) say(events ...event.Event) {
	for _, e := range events {
		c.events <- e
	}
}

func (c *conversation) answers(text string) {
	c.say(c.user("go"), c.status(event.Running), c.message(text), c.snapshot(event.State{Status: event.Finished}))
}

var errTest = errors.New("of this test")

func fail(kind error) func(context.Context) error {
	return func(context.Context) error { return &agentapi.Error{Kind: kind, Msg: "it failed", Err: errTest} }
}

func input() turn.Input {
	return turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}}
}

func TestRunSendsOnceItKnowsTheBaseline(t *testing.T) {
	t.Parallel()
	c := newConversation(event.Idle)
	c.first.Stats = event.Stats{UsageToMetrics: map[string]event.Metrics{"a": {AccumulatedCost: 2}}}
	c.answers("done")
	in := input()
	var baseline turn.Baseline
	in.Ready = func(b turn.Baseline) error { baseline = b; c.note("ready"); return nil }
	var shown shown
	in.Emit = func(u turn.Update) { shown.add([]turn.Update{u}) }
	res, err := turn.Run(t.Context(), c, in)
	if err != nil || res.Answer != "done" || shown.text != "done" {
		t.Errorf("Run: %+v, %v, shown %q", res, err, shown.text)
	}
	if want := []string{"ready", "send go", "close"}; !slices.Equal(c.called(), want) {
		t.Errorf("calls %q, want %q", c.called(), want)
	}
	if baseline.Message == "" {
		t.Error("the baseline does not tell the message")
	}
	if baseline.Message = ""; baseline != (turn.Baseline{After: "leaf", Usage: turn.Usage{Cost: 2}}) {
		t.Errorf("baseline %+v", baseline)
	}
}

func TestRunThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status event.Status
		change func(*conversation, *turn.Input)
		want   error
		calls  []string
	}{
		{"no stream", event.Idle, func(c *conversation, _ *turn.Input) { c.watch = errTest }, errTest, nil},
		{"somebody else runs", event.Running, func(*conversation, *turn.Input) {}, agentapi.ErrBusy, []string{"close"}},
		{"the caller says no", event.Idle, func(_ *conversation, in *turn.Input) {
			in.Ready = func(turn.Baseline) error { return errTest }
		}, errTest, []string{"close"}},
		{
			"refused", event.Idle, func(c *conversation, _ *turn.Input) { c.send = fail(agentapi.ErrRefused) },
			agentapi.ErrRefused,
			[]string{"send go", "close"},
		},
		{
			"unavailable", event.Idle, func(c *conversation, _ *turn.Input) { c.send = fail(agentapi.ErrUnavailable) },
			agentapi.ErrUnavailable,
			[]string{"send go", "close"},
		},
		{
			"the rejection fails", event.Waiting, func(c *conversation, _ *turn.Input) { c.decide = fail(agentapi.ErrUnavailable) },
			agentapi.ErrUnavailable,
			[]string{"reject The user did not approve this action and sent a new message instead.", "close"},
		},
		{"the stream is lost", event.Idle, func(c *conversation, _ *turn.Input) {
			c.lost = &agentapi.Error{Kind: agentapi.ErrLost}
			close(c.events)
		}, agentapi.ErrLost, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newConversation(tt.status)
			in := input()
			tt.change(c, &in)
			if _, err := turn.Run(t.Context(), c, in); !errors.Is(err, tt.want) {
				t.Errorf("Run: %v, want %v", err, tt.want)
			}
			if tt.calls != nil && !slices.Equal(c.called(), tt.calls) {
				t.Errorf("calls %q, want %q", c.called(), tt.calls)
			}
		})
	}
}

type ended struct {
	turn.Result
	err error
}

func TestTurnWaitsForARunThatItDidNotStart(t *testing.T) {
	t.Parallel()
	for _, stop := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newConversation(event.Running)
			asked := 0
			in := input()
			in.Decision = &agentapi.Decision{Accept: true}
			in.Busy = func() bool { asked++; return stop }
			var before turn.Baseline
			in.Ready = func(b turn.Baseline) error { before = b; return nil }
			c.send = func(context.Context) error { c.answers("mine"); return nil }
			over := make(chan ended, 1)
			go func() {
				res, err := turn.Run(t.Context(), c, in)
				over <- ended{res, err}
			}()
			synctest.Wait()
			c.say(c.user("of the other run"), c.message("its answer"), c.status(event.Waiting))
			synctest.Wait()
			if calls := c.called(); slices.Contains(calls, "send go") || slices.Contains(calls, "interrupt") != stop {
				t.Errorf("stop %v: calls before the end of the other run: %v", stop, calls)
			}
			c.say(c.snapshot(event.State{Status: event.Waiting, LeafEventID: "its leaf"}))
			got := <-over
			if got.err != nil || got.Answer != "mine" || asked != 1 || before.After != "its leaf" {
				t.Errorf("stop %v: %+v, %v, asked %d times, baseline %+v", stop, got.Result, got.err, asked, before)
			}
			if calls := c.called(); slices.Contains(calls, "accept") {
				t.Errorf("what nobody has seen was accepted: %v", calls)
			}
		})
	}
}

func TestRunThatDoesNotStopForTheNextIsBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConversation(event.Running)
		in := input()
		in.Busy = func() bool { return true }
		_, err := turn.Run(t.Context(), c, in)
		if !errors.Is(err, agentapi.ErrBusy) || slices.Contains(c.called(), "send go") {
			t.Errorf("Run: %v, calls %v", err, c.called())
		}
	})
}

func TestWaitForARunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		c := newConversation(event.Running)
		in := input()
		in.Busy = func() bool { return false }
		if _, err := turn.Run(ctx, c, in); !errors.Is(err, context.DeadlineExceeded) || len(c.called()) != 1 {
			t.Errorf("Run: %v, calls %v", err, c.called())
		}
	})
}

func TestLostRunKeepsTheTextSoFar(t *testing.T) {
	t.Parallel()
	c := newConversation(event.Idle)
	c.lost = &agentapi.Error{Kind: agentapi.ErrLost}
	c.say(c.user("go"), c.status(event.Running), c.message("so far"))
	close(c.events)
	res, err := turn.Run(t.Context(), c, input())
	if !errors.Is(err, agentapi.ErrLost) || res.Answer != "so far" {
		t.Errorf("Run: %+v, %v", res, err)
	}
}

func TestWhatWaitsIsDecidedFirst(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		decision *agentapi.Decision
		calls    []string
	}{
		{"accepted", &agentapi.Decision{Accept: true}, []string{"accept", "close"}},
		{"rejected", &agentapi.Decision{Reason: "no way"}, []string{"reject no way", "send go", "close"}},
		{"passed over", nil, []string{"reject The user did not approve this action and sent a new message instead.", "send go", "close"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newConversation(event.Waiting)
			if tt.decision != nil && tt.decision.Accept {
				c.say(c.status(event.Running), c.message("done"), c.snapshot(event.State{Status: event.Finished}))
			} else {
				c.answers("done")
			}
			in := input()
			in.Decision = tt.decision
			if res, err := turn.Run(t.Context(), c, in); err != nil || res.Answer != "done" {
				t.Errorf("Run: %+v, %v", res, err)
			}
			if !slices.Equal(c.called(), tt.calls) {
				t.Errorf("calls %q, want %q", c.called(), tt.calls)
			}
		})
	}
}

func TestDecisionWithoutAnythingToDecideIsIgnored(t *testing.T) {
	t.Parallel()
	c := newConversation(event.Finished)
	c.answers("done")
	in := input()
	in.Decision = &agentapi.Decision{Accept: true}
	if res, err := turn.Run(t.Context(), c, in); err != nil || res.Answer != "done" {
		t.Errorf("Run: %+v, %v", res, err)
	}
	if want := []string{"send go", "close"}; !slices.Equal(c.called(), want) {
		t.Errorf("calls %q, want %q", c.called(), want)
	}
}

// stopped lets an interrupt end the run.
func (c *conversation) stopped() {
	c.say(c.event(event.SourceUser, &event.Interrupt{}), c.status(event.Paused), c.snapshot(event.State{Status: event.Paused}))
}

func TestCanceledRunIsInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConversation(event.Idle)
		c.interrupt = func(context.Context) error { c.stopped(); return nil }
		c.say(c.user("go"), c.status(event.Running), c.message("so far"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		res, err := turn.Run(ctx, c, input())
		if err != nil || res.Outcome != turn.Interrupted || res.Answer != "so far" {
			t.Errorf("Run: %+v, %v", res, err)
		}
	})
}

func TestInterruptWaitsForTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConversation(event.Idle)
		c.send = func(context.Context) error {
			time.Sleep(5 * time.Second)
			c.note("sent")
			c.say(c.user("go"), c.status(event.Running))
			return nil
		}
		c.interrupt = func(context.Context) error { c.stopped(); return nil }
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		res, err := turn.Run(ctx, c, input())
		if err != nil || res.Outcome != turn.Interrupted {
			t.Errorf("Run: %+v, %v", res, err)
		}
		if calls := c.called(); slices.Index(calls, "interrupt") < slices.Index(calls, "sent") {
			t.Errorf("calls %q", calls)
		}
	})
}

func TestRunThatBeginsAfterItsInterruptIsInterruptedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConversation(event.Idle)
		c.say(c.user("go"))
		n := 0
		c.interrupt = func(context.Context) error {
			if n++; n == 1 { // too early: the run has not begun
				time.AfterFunc(time.Second, func() { c.say(c.status(event.Running)) })
				return nil
			}
			c.stopped()
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		res, err := turn.Run(ctx, c, input())
		if err != nil || res.Outcome != turn.Interrupted || n != 2 {
			t.Errorf("Run: %+v, %v after %d interrupts", res, err, n)
		}
	})
}

func TestRunThatDoesNotStopIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*conversation){
		"the agent does not listen": func(*conversation) {},
		"the start never returns": func(c *conversation) {
			c.send = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		},
		"the interrupt hangs": func(c *conversation) {
			c.interrupt = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newConversation(event.Idle)
				change(c)
				c.say(c.user("go"), c.status(event.Running))
				ctx, cancel := context.WithCancel(t.Context())
				cancelled := time.Now().Add(time.Second)
				time.AfterFunc(time.Second, cancel)
				_, err := turn.Run(ctx, c, input())
				if !errors.Is(err, agentapi.ErrLost) || time.Since(cancelled) != 10*time.Second {
					t.Errorf("Run: %v after %v", err, time.Since(cancelled))
				}
			})
		})
	}
}

func TestInterruptThatFailsEndsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConversation(event.Idle)
		c.interrupt = fail(agentapi.ErrUnavailable)
		c.say(c.user("go"), c.status(event.Running))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := turn.Run(ctx, c, input()); !errors.Is(err, agentapi.ErrLost) {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestNoErrorOfAStartedRunSaysThatNothingWasStarted(t *testing.T) {
	t.Parallel()
	for _, kind := range []error{
		agentapi.ErrUnavailable, agentapi.ErrRefused, agentapi.ErrBusy, agentapi.ErrUnauthorized,
		agentapi.ErrUnsupported, agentapi.ErrConversationNotFound,
	} {
		c := newConversation(event.Idle)
		c.lost = &agentapi.Error{Kind: kind, Msg: "it failed"}
		c.say(c.user("go"), c.status(event.Running), c.message("so far"))
		close(c.events)
		res, err := turn.Run(t.Context(), c, input())
		if !errors.Is(err, agentapi.ErrLost) || errors.Is(err, kind) || res.Answer != "so far" {
			t.Errorf("kind %v: Run: %+v, %v", kind, res, err)
		}
		if got := agentapi.PublicMessage(err, ""); got != "it failed" {
			t.Errorf("kind %v: public message %q", kind, got)
		}
	}
}

func TestStartOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		after func(*conversation) // a second after the start failed
		want  error
	}{
		{"it shows itself", func(c *conversation) { c.answers("done") }, nil},
		{"nothing is seen of it", func(*conversation) {}, agentapi.ErrUncertain},
		{"the stream was lost and shows that nothing runs", func(c *conversation) {
			c.say(c.snapshot(event.State{Status: event.Idle}))
		}, agentapi.ErrUncertain},
		{"the stream was lost and shows that it runs", func(c *conversation) {
			c.say(c.user("go"), c.status(event.Running), c.snapshot(event.State{Status: event.Running}))
			time.AfterFunc(time.Minute, func() { c.say(c.message("done"), c.snapshot(event.State{Status: event.Finished})) })
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newConversation(event.Idle)
				c.send = func(ctx context.Context) error {
					time.AfterFunc(time.Second, func() { tt.after(c) })
					return fail(agentapi.ErrUncertain)(ctx)
				}
				start := time.Now()
				res, err := turn.Run(t.Context(), c, input())
				if !errors.Is(err, tt.want) || (err == nil && res.Answer != "done") {
					t.Errorf("Run: %+v, %v, want %v", res, err, tt.want)
				}
				if took := time.Since(start); took > 2*time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestFollowReadsWhatARunWouldHave(t *testing.T) {
	t.Parallel()
	c := newConversation(event.Finished)
	c.say(c.status(event.Idle))
	c.answers("done")
	var shown shown
	res, err := turn.Follow(t.Context(), c, turn.Baseline{After: "there"}, func(u turn.Update) { shown.add([]turn.Update{u}) }, nil)
	if err != nil || res.Answer != "done" || shown.text != "done" || c.after != "there" {
		t.Errorf("Follow: %+v, %v, shown %q after %q", res, err, shown.text, c.after)
	}
	if want := []string{"close"}; !slices.Equal(c.called(), want) {
		t.Errorf("calls %q, want %q", c.called(), want)
	}
}

func TestFollowSaysWhenThereIsNothing(t *testing.T) {
	t.Parallel()
	for name, events := range map[string]func(*conversation){
		"no message":            func(*conversation) {},
		"a message without run": func(c *conversation) { c.say(c.user("go")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConversation(event.Idle)
			events(c)
			c.say(c.snapshot(event.State{Status: event.Idle}))
			if _, err := turn.Follow(t.Context(), c, turn.Baseline{After: "there"}, nil, nil); !errors.Is(err, turn.ErrNoTurn) {
				t.Errorf("Follow: %v, want %v", err, turn.ErrNoTurn)
			}
		})
	}
}

// The status of a conversation is that of its newest turn, or of one before a message
// that nothing has answered.
func TestStatusOfAnotherTurnEndsNoTurn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		base   turn.Baseline
		events func(*conversation)
		now    event.Status
	}{
		"a message without a run, behind a turn that finished": {
			events: func(c *conversation) { c.say(c.user("go")) }, now: event.Finished,
		},
		"a message without a run, behind a turn that waits": {
			events: func(c *conversation) { c.say(c.user("go")) }, now: event.Waiting,
		},
		"a run that was told to have failed before it began": {
			events: func(c *conversation) { c.say(c.user("go"), c.status(event.Failed)) }, now: event.Failed,
		},
		"a message without a run, and a turn behind it": {
			events: func(c *conversation) { c.say(c.user("go")); c.answers("second") }, now: event.Finished,
		},
		"a message that never arrived, and a turn in its place": {
			base:   turn.Baseline{Message: "another"},
			events: func(c *conversation) { c.answers("second") }, now: event.Finished,
		},
		"a confirmation that never arrived, and a turn in its place": {
			base:   turn.Baseline{Accepts: true},
			events: func(c *conversation) { c.say(c.status(event.Waiting), c.status(event.Idle)); c.answers("second") }, now: event.Finished,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConversation(tt.now)
			tt.events(c)
			c.say(c.snapshot(event.State{Status: tt.now}))
			tt.base.After = "there"
			res, err := turn.Follow(t.Context(), c, tt.base, func(turn.Update) {}, nil)
			if !errors.Is(err, turn.ErrNoTurn) || res.Answer != "" {
				t.Errorf("Follow: %+v, %v, want %v", res, err, turn.ErrNoTurn)
			}
		})
	}
}

func TestEndOfAFollowerStopsNothing(t *testing.T) {
	t.Parallel()
	c := newConversation(event.Running)
	c.say(c.user("go"), c.status(event.Running), c.message("so far"))
	ctx, cancel := context.WithCancel(t.Context())
	res, err := turn.Follow(ctx, c, turn.Baseline{After: "there"}, func(turn.Update) { cancel() }, nil)
	if !errors.Is(err, context.Canceled) || res.Answer != "so far" {
		t.Errorf("Follow: %+v, %v", res, err)
	}
	if slices.Contains(c.called(), "interrupt") {
		t.Error("the run was interrupted")
	}
}
