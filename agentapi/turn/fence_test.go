package turn_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// fenced is a conversation that takes its message and its run apart.
type fenced struct {
	*conversation

	append, start func(context.Context) error // nil: they work
}

func (c *fenced) Append(ctx context.Context, m agentapi.Message) error {
	c.note("append " + m.Text)
	if c.append == nil {
		return nil
	}
	return c.append(ctx)
}

func (c *fenced) Start(ctx context.Context) error {
	c.note("start")
	if c.start == nil {
		return nil
	}
	return c.start(ctx)
}

func newFenced(first event.Status) *fenced { return &fenced{conversation: newConversation(first)} }

// fence notes that it was asked.
func (c *fenced) fence(context.Context) error { c.note("fence"); return nil }

// look notes that it was asked, and interrupts nothing.
func (c *fenced) look(context.Context, func(context.Context) error) error {
	c.note("look")
	return nil
}

var errOwner = errors.New("the run has another owner")

func (c *fenced) input() turn.Input {
	in := input()
	in.Fence, in.Started = c.fence, c.look
	return in
}

func wantCalls(t *testing.T, c *fenced, want ...string) {
	t.Helper()
	if got := c.called(); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}

func TestTheFenceIsBetweenTheMessageAndItsRun(t *testing.T) {
	t.Parallel()
	c := newFenced(event.Idle)
	c.start = func(context.Context) error { c.answers("done"); return nil }
	in := c.input()
	in.Ready = func(turn.Baseline) error { c.note("ready"); return nil }
	if res, err := turn.Run(t.Context(), c, in); err != nil || res.Answer != "done" {
		t.Errorf("Run: %+v, %v", res, err)
	}
	wantCalls(t, c, "ready", "append go", "fence", "start", "look", "close")
}

// TestAMessageThatCameTwiceIsFollowedAsOne: a gateway that joins reads from the baseline of
// the one that began.
func TestAMessageThatCameTwiceIsFollowedAsOne(t *testing.T) {
	t.Parallel()
	var base turn.Baseline
	c := newFenced(event.Idle)
	in := c.input()
	in.Ready = func(b turn.Baseline) error { base = b; return errOwner }
	if _, err := turn.Run(t.Context(), c, in); !errors.Is(err, errOwner) {
		t.Fatal(err)
	}
	c.say(c.user("go"), c.user("go"), c.status(event.Running), c.message("done"), c.status(event.Finished), c.snapshot(event.State{Status: event.Finished}))
	res, err := turn.Follow(t.Context(), c, base, func(turn.Update) {}, nil)
	if err != nil || res.Answer != "done" || res.Outcome != turn.Finished {
		t.Errorf("Follow: %+v, %v", res, err)
	}
}

func TestTheFenceIsBeforeWhatIsAccepted(t *testing.T) {
	t.Parallel()
	c := newFenced(event.Waiting)
	c.decide = func(context.Context) error {
		c.say(c.status(event.Running), c.message("done"), c.snapshot(event.State{Status: event.Finished}))
		return nil
	}
	in := c.input()
	in.Decision = &agentapi.Decision{Accept: true}
	if res, err := turn.Run(t.Context(), c, in); err != nil || res.Answer != "done" {
		t.Errorf("Run: %+v, %v", res, err)
	}
	wantCalls(t, c, "fence", "accept", "look", "close")
}

func TestATurnWithoutAFenceIsOneCall(t *testing.T) {
	t.Parallel()
	c := newFenced(event.Idle)
	c.send = func(context.Context) error { c.answers("done"); return nil }
	in := input()
	in.Started = c.look
	if res, err := turn.Run(t.Context(), c, in); err != nil || res.Answer != "done" {
		t.Errorf("Run: %+v, %v", res, err)
	}
	wantCalls(t, c, "send go", "close")
}

func TestWhatCannotHaveAFenceIsRefused(t *testing.T) {
	t.Parallel()
	whole := newConversation(event.Idle)
	in := input()
	in.Fence = func(context.Context) error { return nil }
	if _, err := turn.Run(t.Context(), whole, in); !errors.Is(err, agentapi.ErrUnsupported) {
		t.Errorf("a backend of one call: %v", err)
	}
	if _, err := turn.Resume(t.Context(), whole, turn.Baseline{}, in); !errors.Is(err, agentapi.ErrUnsupported) {
		t.Errorf("Resume with a backend of one call: %v", err)
	}
	if calls := whole.called(); len(calls) != 0 {
		t.Errorf("calls %q", calls)
	}
	c := newFenced(event.Waiting)
	in = c.input()
	in.Goal = &agentapi.Goal{Objective: "go", Rounds: 2}
	_, err := turn.Run(t.Context(), c, in)
	if !errors.Is(err, agentapi.ErrUnsupported) || !errors.Is(err, agentapi.ErrNoGoals) || agentapi.PublicMessage(err, "") == "" {
		t.Errorf("a goal: %v", err)
	}
	wantCalls(t, c)
}

// TestAFenceThatFallsEndsTheTurn: nothing runs, and no run is interrupted, also if the
// client goes meanwhile.
func TestAFenceThatFallsEndsTheTurn(t *testing.T) {
	t.Parallel()
	for _, goes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := newFenced(event.Idle)
			c.append = func(context.Context) error { c.say(c.user("go")); return nil }
			in := c.input()
			in.Fence = func(context.Context) error {
				if goes {
					cancel()
					synctest.Wait()
				}
				return errOwner
			}
			res, err := turn.Run(ctx, c, in)
			if err != errOwner || res.Answer != "" { //nolint:errorlint // the very error
				t.Errorf("Run: %+v, %v", res, err)
			}
			wantCalls(t, c, "append go", "close")
		})
	}
}

// TestALookThatFailsEndsTheTurn: the run has another owner, whatever was read of it.
func TestALookThatFailsEndsTheTurn(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*fenced) error{
		"it was started":    func(c *fenced) error { c.answers("theirs"); return nil },
		"it is not known":   func(*fenced) error { return &agentapi.Error{Kind: agentapi.ErrUncertain, Msg: "?"} },
		"its server is off": func(*fenced) error { return &agentapi.Error{Kind: agentapi.ErrLost, Msg: "?"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newFenced(event.Idle)
				c.start = func(context.Context) error { return start(c) }
				in := c.input()
				in.Started = func(ctx context.Context, interrupt func(context.Context) error) error {
					time.Sleep(time.Second) // the reader comes to the end of the run
					if err := errors.Join(ctx.Err(), interrupt(ctx)); err != nil {
						t.Error(err)
					}
					return errOwner
				}
				res, err := turn.Run(t.Context(), c, in)
				if err != errOwner || res.Answer != "" || res.Outcome != turn.Finished { //nolint:errorlint // the very error
					t.Errorf("Run: %+v, %v", res, err)
				}
				wantCalls(t, c, "append go", "fence", "start", "interrupt", "close")
			})
		})
	}
}

func TestAStartThatFailedIsNotLookedAt(t *testing.T) {
	t.Parallel()
	c := newFenced(event.Idle)
	c.start = fail(agentapi.ErrUnavailable)
	if _, err := turn.Run(t.Context(), c, c.input()); !errors.Is(err, agentapi.ErrUnavailable) {
		t.Errorf("Run: %v", err)
	}
	wantCalls(t, c, "append go", "fence", "start", "close")
}

// full is the error of a start that there is no room for, for some attempts.
func (c *fenced) full(attempts int) error {
	return &agentapi.Error{Kind: agentapi.ErrFull, Err: &agentapi.FullError{Stored: true, Err: errTest, Again: func(ctx context.Context, before func(context.Context) error) error {
		for range attempts {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := before(ctx); err != nil {
				return err
			}
			c.note("try")
		}
		c.answers("done")
		return nil
	}}}
}

func TestTheFenceIsAskedBeforeEachStartInTheWaitForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFenced(event.Idle)
		c.start = func(context.Context) error { return c.full(2) }
		if res, err := turn.Run(t.Context(), c, c.input()); err != nil || res.Answer != "done" {
			t.Errorf("Run: %+v, %v", res, err)
		}
		wantCalls(t, c, "append go", "fence", "start", "fence", "try", "fence", "try", "look", "close")
	})
}

func TestAFenceThatFallsInTheWaitForRoomEndsTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFenced(event.Idle)
		c.start = func(context.Context) error { return c.full(5) }
		in := c.input()
		asked := 0
		in.Fence = func(context.Context) error {
			if asked++; asked == 3 {
				return errOwner
			}
			return nil
		}
		if _, err := turn.Run(t.Context(), c, in); !errors.Is(err, errOwner) {
			t.Errorf("Run: %v", err)
		}
		wantCalls(t, c, "append go", "start", "try", "close")
	})
}

// TestARunThatIsWithdrawnIsNotLookedAt: it was never started.
func TestARunThatIsWithdrawnIsNotLookedAt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := newFenced(event.Idle)
		c.start = func(context.Context) error { time.AfterFunc(1500*time.Millisecond, cancel); return c.full(5) }
		res, err := turn.Run(ctx, c, c.input())
		if err != nil || res.Outcome != turn.Interrupted {
			t.Errorf("Run: %+v, %v", res, err)
		}
		wantCalls(t, c, "append go", "fence", "start", "fence", "try", "interrupt", "close")
	})
}
