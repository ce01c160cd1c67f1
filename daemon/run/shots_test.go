package run_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/run"
)

// person is who may enter every conversation.
var person = run.Access{Person: true}

// wantConvs checks how many conversations the agent has.
func (g *gateways) wantConvs(want int) {
	g.t.Helper()
	if _, n := g.b.counts(); n != want {
		g.t.Errorf("the agent has %d conversations, want %d", n, want)
	}
}

func TestOneGatewayRemovesTheOneShotsOfAll(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		a.wantAnswer(shared("one", ""), "re: one")
		b.wantAnswer(shared("two", ""), "re: two")
		kept := a.admit(shared("kept", ""))
		if _, err := a.read(kept); err != nil {
			t.Fatalf("the request ends with %v", err)
		}
		b.wantAnswer(within(kept.ConversationID(), shared("goes on", "")), "re: goes on")
		a.kill()
		time.Sleep(50 * time.Minute)
		g.wantConvs(3)
		time.Sleep(11 * time.Minute)
		g.wantConvs(1)
		if a.l.Calls("add")+b.l.Calls("add") != 0 {
			t.Error("a one-shot was noted after its claim had noted it")
		}
	})
}

func TestAOneShotWhoseGatewayDiedIsRemovedInTheEnd(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		first := a.admit(shared("wait", ""))
		synctest.Wait()
		a.kill()
		time.Sleep(3 * time.Second) // another one takes the run over and, without a client, interrupts it
		g.wantConvs(1)
		if !b.IsOneShot(person, first.ConversationID()) {
			t.Error("no gateway knows that it is a one-shot")
		}
		time.Sleep(61 * time.Minute)
		g.wantConvs(0)
		if b.IsOneShot(person, first.ConversationID()) {
			t.Error("a conversation that is gone is a one-shot")
		}
	})
}

func TestAOneShotThatIsContinuedAsOneStaysWhileARunGoesOnAnywhere(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		first := a.admit(shared("one", ""))
		if _, err := a.read(first); err != nil {
			t.Fatalf("the request ends with %v", err)
		}
		req := within(first.ConversationID(), shared("wait", ""))
		req.Once = true
		second := b.admit(req)
		defer second.Close()
		time.Sleep(2 * time.Hour)
		g.wantConvs(1)
		g.b.conv(first.ConversationID()).letGo()
		time.Sleep(30 * time.Minute)
		g.wantConvs(1)
		time.Sleep(31 * time.Minute)
		g.wantConvs(0)
	})
}

// What was not made is not removed, and not looked for.
func TestAOneShotThatWasNotMadeIsForgotten(t *testing.T) {
	t.Parallel()
	single(t, func(g *gateways, m *gateway) {
		g.b.openErr = &agentapi.Error{Kind: agentapi.ErrUnavailable}
		a := m.admit(shared("hello", ""))
		id := a.ConversationID()
		if _, err := m.read(a); !errors.Is(err, agentapi.ErrUnavailable) {
			t.Errorf("the request ends with %v", err)
		}
		time.Sleep(time.Minute)
		if m.IsOneShot(person, id) {
			t.Error("a conversation that was not made is a one-shot")
		}
	})
}

func TestARemovalStopsTheRunOfAnotherGatewayFirst(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		first := a.admit(within(conversation, shared("wait", "")))
		defer first.Close()
		synctest.Wait()
		c := g.b.conv(conversation)
		if err := b.Remove(t.Context(), person, conversation); err != nil {
			t.Errorf("Remove: %v", err)
		}
		if c.interrupted() != 1 {
			t.Errorf("the run was interrupted %d times", c.interrupted())
		}
		g.wantConvs(0)
	})
}

func TestARemovalKnowsThatTheSharedStateIsAway(t *testing.T) {
	t.Parallel()
	single(t, func(g *gateways, m *gateway) {
		m.wantAnswer(within(conversation, shared("hello", "")), "re: hello")
		m.l.Fail("alone", errAway)
		if err := m.Remove(t.Context(), person, conversation); !errors.Is(err, run.ErrLedger) {
			t.Errorf("Remove: %v, want ErrLedger", err)
		}
		g.wantConvs(1)
	})
}

func TestAConversationAtWorkAtAnotherGatewayIsNotSummarized(t *testing.T) {
	t.Parallel()
	inGateways(t, func(g *gateways) {
		a, b := g.join(), g.join()
		first := a.admit(within(conversation, shared("wait", "")))
		defer first.Close()
		synctest.Wait()
		began := time.Now()
		if _, err := b.Condense(t.Context(), person, conversation, nil); !errors.Is(err, agentapi.ErrBusy) || time.Since(began) > 0 {
			t.Errorf("Condense beside a run: %v after %v, want ErrBusy at once", err, time.Since(began))
		}
		if !b.IsBusy(conversation) {
			t.Error("the conversation is not busy")
		}
		b.l.Fail("runs", errAway)
		if !b.IsBusy(conversation) {
			t.Error("the conversation is not busy, as far as a gateway without the shared state knows")
		}
		b.l.Fail("runs", nil)
		g.b.conv(conversation).letGo()
		if _, err := a.read(first); err != nil {
			t.Errorf("the request ends with %v", err)
		}
		if _, err := b.Condense(t.Context(), person, conversation, nil); err != nil || b.IsBusy(conversation) {
			t.Errorf("Condense after the run: %v", err)
		}
	})
}

// A backend that does not answer is left alone for a while, and the removal comes later.
func TestRemovalsOfOneShotsWaitForTheBackend(t *testing.T) {
	t.Parallel()
	single(t, func(g *gateways, m *gateway) {
		m.wantAnswer(shared("one", ""), "re: one")
		var tries atomic.Int64
		g.b.setRemove(func(context.Context, string) error {
			if tries.Add(1) < 3 {
				return &agentapi.Error{Kind: agentapi.ErrUnavailable}
			}
			return nil
		})
		time.Sleep(time.Hour + 30*time.Second)
		if g.wantConvs(1); tries.Load() != 1 {
			t.Errorf("tried %d times within half a minute", tries.Load())
		}
		time.Sleep(10 * time.Minute)
		if g.wantConvs(0); tries.Load() != 3 {
			t.Errorf("tried %d times", tries.Load())
		}
	})
}
