package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

func TestARunOfAnotherGatewayIsJoined(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		one := a.admit(shared("wait", "key"))
		synctest.Wait()
		two := b.admit(shared("wait", "key"))
		if two.AnswerID() != one.AnswerID() || two.ConversationID() != one.ConversationID() || !two.Replayed() {
			t.Errorf("joined %s in %s, want %s in %s", two.AnswerID(), two.ConversationID(), one.AnswerID(), one.ConversationID())
		}
		time.Sleep(time.Second)
		g.b.conv(one.ConversationID()).letGo()
		for _, m := range []struct {
			*gateway
			a *run.Attachment
		}{{a, one}, {b, two}} {
			if text, err := m.read(m.a); err != nil || !strings.HasSuffix(text, "partly done") {
				t.Errorf("the answer is %q, %v", text, err)
			}
		}
		g.wantSent("wait", 1)
		b.wantAnswer(shared("wait", "key"), "partly done") // from the ledger, or from memory
		g.wantSent("wait", 1)
	})
}

// diesAt answers a request by two gateways, of which the first dies at a step. It reports the
// steps of the first, if that has not died.
func diesAt(t *testing.T, step int, req func() run.Request, want string) (steps []string) {
	t.Helper()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		a.last = step
		_, err := a.answer(req())
		a.mu.Lock()
		dead := a.dead
		steps = a.steps
		a.mu.Unlock()
		if !dead && err != nil {
			t.Errorf("without a death: %v", err)
		}
		again := req()
		again.Retry = true
		for try := 0; ; try++ {
			text, err := b.answer(again)
			if err == nil && strings.HasSuffix(text, want) {
				break
			}
			if try > 10 {
				g.t.Fatalf("after step %d, %s: %q, %v", step, steps[len(steps)-1], text, err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		if n := g.b.sent()["nap 20"]; n != 1 {
			t.Errorf("after step %d, %s: the agent ran %d times", step, steps[len(steps)-1], n)
		}
		if phases := g.state.Phases(); len(phases) != 1 || phases[0] != ledger.Ended {
			t.Errorf("after step %d, %s: the phases of the runs are %v", step, steps[len(steps)-1], phases)
		}
		if !dead {
			return
		}
		steps = nil
	})
	return steps
}

func TestAGatewayMayDieAtAnyStep(t *testing.T) {
	t.Parallel()
	for name, req := range map[string]func() run.Request{
		"keyed":           func() run.Request { return shared("nap 20", "key") },
		"keyed and named": func() run.Request { return within(conversation, shared("nap 20", "key")) },
		"marked":          func() run.Request { return within(conversation, shared("nap 20", "")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := 0
			for step := 1; ; step++ {
				steps := diesAt(t, step, req, "nap 20")
				if t.Failed() {
					return
				}
				if steps != nil { // it did not come so far
					seen = len(steps)
					break
				}
			}
			if seen < 14 {
				t.Errorf("a run had only %d steps", seen)
			}
		})
	}
}

// A gateway that is frozen between its fence and the start, for longer than its lease, starts
// nothing when it wakes: another one has the run.
func TestAFrozenGatewayDoesNothingMore(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"sending", "append", "running", "running done", "start", "start done", "started", "end"} {
		inGateways(t, func(g *gateways) {
			a, b := g.join(), g.join()
			a.freeze = step
			one := a.admit(shared("nap 20", "key"))
			time.Sleep(10 * time.Second)
			two := b.admit(shared("nap 20", "key"))
			if text, err := b.read(two); err != nil || !strings.HasSuffix(text, "nap 20") {
				t.Errorf("frozen at %s: %q, %v", step, text, err)
			}
			a.thaw()
			if text, err := a.read(one); (err != nil || !strings.HasSuffix(text, "nap 20")) && !errors.Is(err, run.ErrTakenOver) {
				t.Errorf("woken at %s: %q, %v", step, text, err)
			}
			time.Sleep(time.Minute)
			if n := g.b.sent()["nap 20"]; n != 1 {
				t.Errorf("frozen at %s: the agent ran %d times", step, n)
			}
			if ends := g.state.Endings(); len(ends) != 1 || ends[0].Stop != "" {
				t.Errorf("frozen at %s: ends %+v", step, ends)
			}
		})
	}
}

func TestARunWhoseGatewayDiedGoesOn(t *testing.T) {
	t.Parallel()
	for _, detached := range []bool{true, false} {
		inGateways(t, func(g *gateways) {
			a, _ := g.join(), g.join()
			req := within(conversation, shared("wait", ""))
			req.Detach = detached
			a.admit(req)
			synctest.Wait()
			a.kill()
			time.Sleep(30 * time.Second)
			c := g.b.conv(conversation)
			if n := c.interrupted(); (n == 0) != detached {
				t.Errorf("detached %v: interrupted %d times", detached, n)
			}
			if detached {
				c.letGo()
				time.Sleep(time.Second)
			}
			if ends := g.state.Endings(); len(ends) != 1 || (ends[0].Stop == "gone") == detached {
				t.Errorf("detached %v: ends %+v", detached, ends)
			}
			g.wantSent("wait", 1)
		})
	}
}

// The answer to a claim was lost: the run has a gateway, and that has no job.
func TestARunWithoutAJobIsReleased(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		a.l.Lose("claim", errAway)
		if _, err := a.answer(shared("hello", "key")); !errors.Is(err, run.ErrLedger) {
			t.Errorf("without an answer to the claim: %v", err)
		}
		time.Sleep(5 * time.Second)
		again := b.admit(shared("hello", "key"))
		if !again.Begins() {
			t.Error("the request does not begin the run that no gateway has sent")
		}
		if text, err := b.read(again); err != nil || text != "re: hello" {
			t.Errorf("the answer is %q, %v", text, err)
		}
		g.wantSent("hello", 1)
	})
}

func TestAConversationIsOneQueueOnAllGateways(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		all := []*gateway{g.join(), g.join(), g.join()}
		var wg sync.WaitGroup
		for i := range 8 {
			m := all[i%3]
			req := within(conversation, shared(fmt.Sprint("nap 1", i), ""))
			a := m.admit(req)
			wg.Go(func() {
				if text, err := m.read(a); err != nil || !strings.Contains(text, fmt.Sprintf("run %d:", i+1)) {
					t.Errorf("message %d has the answer %q, %v", i, text, err)
				}
			})
		}
		wg.Wait()
		if _, err := all[0].Admit(within(conversation, shared("hello", ""))); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestAStopReachesTheOtherGateway(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		runs := a.admit(within(conversation, shared("wait", "")))
		synctest.Wait()
		waits := a.admit(within(conversation, shared("hello", "")))
		synctest.Wait()
		if n := b.Stop("t", conversation, ""); n != 2 {
			t.Errorf("stopped %d", n)
		}
		if _, err := a.read(runs); err != nil {
			t.Errorf("the one that ran: %v", err)
		}
		if res, _ := runs.Result(); res.Outcome != turn.Interrupted {
			t.Errorf("the one that ran ended as %v", res.Outcome)
		}
		if _, err := a.read(waits); !errors.Is(err, run.ErrStopped) {
			t.Errorf("the one that waited: %v", err)
		}
		again := a.admit(within(conversation, shared("wait", "")))
		synctest.Wait()
		if !b.StopAnswer(conversation, again.AnswerID()) {
			t.Error("the answer has no run")
		}
		if _, err := a.read(again); err != nil {
			t.Errorf("stopped by its answer: %v", err)
		}
		if b.StopAnswer(conversation, again.AnswerID()) || b.Stop("t", conversation, "") != 0 {
			t.Error("stopped once more")
		}
		g.wantSent("wait", 2)
	})
}

func TestADrainGivesRunsToTheOtherGateways(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		runs := a.admit(within(conversation, shared("wait", "one")))
		synctest.Wait()
		waits := a.admit(within(conversation, shared("hello", "two")))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		drained := make(chan struct{})
		go func() {
			a.Drain(ctx)
			close(drained)
		}()
		synctest.Wait()
		if _, err := a.Admit(shared("else", "")); !errors.Is(err, run.ErrReleased) {
			t.Errorf("a new request: %v", err)
		}
		began := time.Now()
		if _, err := a.read(waits); !errors.Is(err, run.ErrReleased) || time.Since(began) > 0 {
			t.Errorf("the one that waits: %v after %v, want at once", err, time.Since(began))
		}
		next := b.admit(within(conversation, shared("hello", "two"))) // it keeps its place
		<-drained
		if _, err := a.read(runs); !errors.Is(err, run.ErrReleased) {
			t.Errorf("the one that runs: %v", err)
		}
		c := g.b.conv(conversation)
		if n := c.interrupted(); n != 0 {
			t.Errorf("interrupted %d times", n)
		}
		again := b.admit(within(conversation, shared("wait", "one")))
		synctest.Wait()
		c.letGo()
		if text, err := b.read(again); err != nil || !strings.HasSuffix(text, "partly done") {
			t.Errorf("the run ends with %q, %v", text, err)
		}
		if text, err := b.read(next); err != nil || text != "re: hello" {
			t.Errorf("the next one ends with %q, %v", text, err)
		}
		g.wantSent("wait", 1)
		g.wantSent("hello", 1)
	})
}

func TestADrainLetsRunsEndInTheirTime(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a := g.join()
		runs := a.admit(shared("nap 900", ""))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		a.Drain(ctx)
		if text, err := a.read(runs); err != nil || !strings.HasSuffix(text, "nap 900") {
			t.Errorf("the answer is %q, %v", text, err)
		}
		if a.l.Calls("release") != 0 {
			t.Errorf("released %d times", a.l.Calls("release"))
		}
	})
}

// A turn that an earlier process has begun for a client that asks for its answer later.
func TestAnAnswerOfAnotherGatewayIsFollowed(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		req := within(conversation, shared("wait", ""))
		req.Detach = true
		one := a.admit(req)
		synctest.Wait()
		past := run.Past{Conversation: conversation, Answer: one.AnswerID(), Created: one.Created(), Base: turn.Baseline{After: "x"}}
		two, err := b.Rejoin(run.Request{Asker: run.Asker{Access: run.Access{Token: "t"}}}, past)
		if err != nil {
			t.Fatalf("Rejoin: %v", err)
		}
		a.kill() // and the other one continues the run
		time.Sleep(5 * time.Second)
		g.b.conv(conversation).letGo()
		if text, err := b.read(two); err != nil || !strings.HasSuffix(text, "partly done") {
			t.Errorf("the answer is %q, %v", text, err)
		}
		g.wantSent("wait", 1)
		if _, err := b.Rejoin(run.Request{}, run.Past{Conversation: conversation, Answer: "unknown"}); !errors.Is(err, run.ErrInterrupted) {
			t.Errorf("an answer that was never sent for: %v", err)
		}
	})
}
