package turn_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// goBaseline is the baseline of a turn with the message "go".
func goBaseline(t *testing.T) turn.Baseline {
	t.Helper()
	c := newConversation(event.Idle)
	c.answers("x")
	in := input()
	var base turn.Baseline
	in.Ready = func(b turn.Baseline) error { base = b; return nil }
	if _, err := turn.Run(t.Context(), c, in); err != nil {
		t.Fatal(err)
	}
	return base
}

// resumes takes a turn over whose log is replayed and followed by a state.
func (c *fenced) resumes(t *testing.T, base turn.Baseline, in turn.Input, status event.Status, replay ...event.Event) (turn.Result, error) {
	t.Helper()
	c.say(replay...)
	c.say(c.snapshot(event.State{Status: status}))
	var shown shown
	in.Emit = func(u turn.Update) { shown.add([]turn.Update{u}) }
	res, err := turn.Resume(t.Context(), c, base, in)
	if c.after != base.After {
		t.Errorf("the log was read from %q", c.after)
	}
	return res, err
}

func TestResumeGoesOnFromWhereTheTurnWasLeft(t *testing.T) {
	t.Parallel()
	runs := func(c *fenced) func(context.Context) error {
		return func(context.Context) error {
			c.say(c.status(event.Running), c.message("done"), c.status(event.Finished), c.snapshot(event.State{Status: event.Finished}))
			return nil
		}
	}
	sends := func(c *fenced) func(context.Context) error {
		return func(context.Context) error { c.say(c.user("go")); return nil }
	}
	started := []string{"fence", "start", "look", "close"}
	sent := []string{"append go", "fence", "start", "look", "close"}
	for _, tt := range []struct {
		name   string
		status event.Status
		replay func(c *fenced) []event.Event
		calls  []string
		want   string
		out    turn.Outcome
		err    error
	}{
		{name: "nothing was sent", status: event.Finished, calls: sent, want: "done"},
		{name: "another message was sent", status: event.Idle, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("of another client")}
		}, calls: sent, want: "done"},
		{name: "the message was sent", status: event.Idle, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go")}
		}, calls: started, want: "done"},
		{name: "the message was sent after a failed run", status: event.Failed, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go")}
		}, calls: started, want: "done"},
		{name: "the message was sent twice", status: event.Idle, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go"), c.user("go")}
		}, calls: started, want: "done"},
		{name: "the run is over", status: event.Finished, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go"), c.status(event.Running), c.message("before"), c.status(event.Finished)}
		}, calls: []string{"close"}, want: "before"},
		{name: "the run is over, and a slow gateway has sent the message again", status: event.Idle, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go"), c.status(event.Running), c.message("before"), c.status(event.Finished), c.status(event.Idle), c.user("go")}
		}, calls: []string{"close"}, want: "before"},
		{name: "the message came twice before the run", status: event.Finished, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go"), c.user("go"), c.status(event.Running), c.message("before"), c.status(event.Finished)}
		}, calls: []string{"close"}, want: "before"},
		{name: "the run is over, in a log without statuses", status: event.Finished, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go"), c.message("before")}
		}, calls: []string{"close"}, want: "before"},
		{name: "the run was interrupted", status: event.Paused, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go"), c.status(event.Running), c.status(event.Paused), c.event(event.SourceUser, &event.Interrupt{})}
		}, calls: []string{"close"}, out: turn.Interrupted},
		{name: "the run has failed", status: event.Failed, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go"), c.status(event.Running), c.status(event.Failed)}
		}, calls: []string{"close"}, out: turn.Failed},
		{name: "its server has forgotten the run", status: event.Idle, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go"), c.status(event.Running)}
		}, calls: []string{"close"}, out: turn.Failed},
		{name: "the run waits for confirmation", status: event.Waiting, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go"), c.status(event.Running), c.action("", "terminal", `{"command":"ls"}`), c.status(event.Waiting)}
		}, calls: []string{"close"}, out: turn.Waiting},
		{name: "it was stopped before its run", status: event.Paused, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go"), c.status(event.Paused), c.event(event.SourceUser, &event.Pause{})}
		}, calls: []string{"close"}, err: turn.ErrNoTurn},
		{name: "actions of another run wait", status: event.Waiting, replay: func(c *fenced) []event.Event {
			return []event.Event{c.user("go")}
		}, calls: []string{"close"}, err: turn.ErrNoTurn},
		{name: "another client's run goes on", status: event.Running, calls: []string{"close"}, err: agentapi.ErrBusy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := goBaseline(t)
			synctest.Test(t, func(t *testing.T) {
				c := newFenced(tt.status)
				c.append, c.start = sends(c), runs(c)
				var replay []event.Event
				if tt.replay != nil {
					replay = tt.replay(c)
				}
				res, err := c.resumes(t, base, c.input(), tt.status, replay...)
				if !errors.Is(err, tt.err) || res.Answer != tt.want || err == nil && res.Outcome != tt.out {
					t.Errorf("Resume: %+v, %v", res, err)
				}
				wantCalls(t, c, tt.calls...)
			})
		})
	}
}

// TestResumeFollowsARunThatGoesOn: nothing is sent, and the client that goes interrupts it.
func TestResumeFollowsARunThatGoesOn(t *testing.T) {
	t.Parallel()
	base := goBaseline(t)
	for _, stops := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := newFenced(event.Running)
			c.interrupt = func(context.Context) error {
				c.say(c.status(event.Paused), c.event(event.SourceUser, &event.Interrupt{}), c.snapshot(event.State{Status: event.Paused}))
				return nil
			}
			c.say(c.user("go"), c.status(event.Running), c.message("half"), c.snapshot(event.State{Status: event.Running}))
			over := make(chan ended, 1)
			go func() {
				res, err := turn.Resume(ctx, c, base, c.input())
				over <- ended{res, err}
			}()
			synctest.Wait()
			wantCalls(t, c)
			if stops {
				cancel()
			} else {
				c.say(c.message("whole"), c.status(event.Finished), c.snapshot(event.State{Status: event.Finished}))
			}
			got := <-over
			switch {
			case got.err != nil:
				t.Error(got.err)
			case stops && got.Outcome != turn.Interrupted, !stops && (got.Outcome != turn.Finished || got.Answer != "whole"):
				t.Errorf("stops %v: %+v", stops, got.Result)
			}
			if stops != slices.Contains(c.called(), "interrupt") {
				t.Errorf("stops %v: calls %q", stops, c.called())
			}
		})
	}
}

// TestResumeFollowsARunInALogWithoutStatuses: only the last state says that it is over.
func TestResumeFollowsARunInALogWithoutStatuses(t *testing.T) {
	t.Parallel()
	base := goBaseline(t)
	synctest.Test(t, func(t *testing.T) {
		c := newFenced(event.Running)
		c.say(c.user("go"), c.snapshot(event.State{Status: event.Running}), c.message("whole"), c.snapshot(event.State{Status: event.Finished}))
		if res, err := turn.Resume(t.Context(), c, base, c.input()); err != nil || res.Outcome != turn.Finished || res.Answer != "whole" {
			t.Errorf("Resume: %+v, %v", res, err)
		}
		wantCalls(t, c, "close")
	})
}

// TestResumeInterruptsWhatItFindsForAClientThatIsGone: a run that goes on is not left
// without a client.
func TestResumeInterruptsWhatItFindsForAClientThatIsGone(t *testing.T) {
	t.Parallel()
	base := goBaseline(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c := newFenced(event.Running)
		c.interrupt = func(context.Context) error {
			c.say(c.status(event.Paused), c.event(event.SourceUser, &event.Interrupt{}), c.snapshot(event.State{Status: event.Paused}))
			return nil
		}
		c.say(c.user("go"), c.status(event.Running), c.snapshot(event.State{Status: event.Running}))
		if res, err := turn.Resume(ctx, c, base, c.input()); err != nil || res.Outcome != turn.Interrupted {
			t.Errorf("Resume: %+v, %v", res, err)
		}
		wantCalls(t, c, "interrupt", "close")

		idle := newFenced(event.Idle)
		idle.say(idle.snapshot(event.State{Status: event.Idle}))
		if _, err := turn.Resume(ctx, idle, base, idle.input()); !errors.Is(err, context.Canceled) {
			t.Errorf("Resume of what was not sent: %v", err)
		}
		wantCalls(t, idle, "close")

		silent := newFenced(event.Running)
		if _, err := turn.Resume(ctx, silent, base, silent.input()); !errors.Is(err, agentapi.ErrLost) {
			t.Errorf("Resume of what does not show itself: %v", err)
		}
	})
}

// TestResumeReadsAMessageThatComesTwice: the message that the first driver had on its way
// comes while the second one sends it.
func TestResumeReadsAMessageThatComesTwice(t *testing.T) {
	t.Parallel()
	base := goBaseline(t)
	c := newFenced(event.Idle)
	c.append = func(context.Context) error {
		c.say(c.user("go"), c.user("go"), c.user("of another client"))
		return nil
	}
	c.start = func(context.Context) error {
		c.say(c.status(event.Running), c.message("done"), c.status(event.Finished), c.snapshot(event.State{Status: event.Finished}))
		return nil
	}
	if res, err := c.resumes(t, base, c.input(), event.Idle); err != nil || res.Answer != "done" || res.Outcome != turn.Finished {
		t.Errorf("Resume: %+v, %v", res, err)
	}
}

// TestResumeAcceptsOnlyWhatTheUserHasSeen: a decision is sent where nothing has happened
// since it was to be.
func TestResumeAcceptsOnlyWhatTheUserHasSeen(t *testing.T) {
	t.Parallel()
	accept, reject := &agentapi.Decision{Accept: true}, &agentapi.Decision{Reason: "no"}
	for _, tt := range []struct {
		name     string
		decision *agentapi.Decision
		status   event.Status
		replay   func(c *fenced) []event.Event
		calls    []string
		out      turn.Outcome
		err      error
	}{
		{name: "not sent", decision: accept, status: event.Waiting, calls: []string{"fence", "accept", "look", "close"}},
		{name: "not known", status: event.Waiting, calls: []string{"close"}, err: turn.ErrNoTurn},
		{name: "a rejection", decision: reject, status: event.Waiting, calls: []string{"close"}, err: turn.ErrNoTurn},
		{name: "rejected by another client", decision: accept, status: event.Idle, replay: func(c *fenced) []event.Event {
			return []event.Event{c.event(event.SourceEnvironment, &event.UserReject{})}
		}, calls: []string{"close"}, err: turn.ErrNoTurn},
		{name: "others wait, in a log without statuses", decision: accept, status: event.Waiting, replay: func(c *fenced) []event.Event {
			return []event.Event{c.action("", "terminal", `{"command":"rm"}`)}
		}, calls: []string{"close"}, out: turn.Waiting},
		{name: "others wait", decision: accept, status: event.Waiting, replay: func(c *fenced) []event.Event {
			return []event.Event{c.status(event.Running), c.action("", "terminal", `{"command":"rm"}`), c.status(event.Waiting)}
		}, calls: []string{"close"}, out: turn.Waiting},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newFenced(tt.status)
			c.decide = func(context.Context) error {
				c.say(c.status(event.Running), c.message("done"), c.status(event.Finished), c.snapshot(event.State{Status: event.Finished}))
				return nil
			}
			in := c.input()
			in.Decision = tt.decision
			replay := []event.Event{c.status(event.Waiting)}
			if tt.replay != nil {
				replay = append(replay, tt.replay(c)...)
			}
			res, err := c.resumes(t, turn.Baseline{After: "leaf", Accepts: true}, in, tt.status, replay...)
			if !errors.Is(err, tt.err) || err == nil && res.Outcome != tt.out {
				t.Errorf("Resume: %+v, %v", res, err)
			}
			wantCalls(t, c, tt.calls...)
		})
	}
}

// TestResumeRejectsWhatWaitsBeforeItsMessage as Run does. The first driver's decision is
// not sent again.
func TestResumeRejectsWhatWaitsBeforeItsMessage(t *testing.T) {
	t.Parallel()
	c := newFenced(event.Waiting)
	c.start = func(context.Context) error { c.answers("done"); return nil }
	in := c.input()
	in.Decision = &agentapi.Decision{Reason: "of before"}
	res, err := c.resumes(t, goBaseline(t), in, event.Waiting)
	if err != nil || res.Answer != "done" {
		t.Errorf("Resume: %+v, %v", res, err)
	}
	wantCalls(t, c, "reject The user did not approve this action and sent a new message instead.", "append go", "fence", "start", "look", "close")
}
