package ledgertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/uuid"
)

// World is one shared state of gateways, as the contract needs it.
type World interface {
	// Join adds a gateway. The limits are the same for all of one world.
	Join(t *testing.T, opts Options) Gateway
	// Age makes everything that has a time older, but for the signs of life of gateways.
	Age(t *testing.T, by time.Duration)
}

// Gateway is one gateway of a world.
type Gateway struct {
	Ledger ledger.Ledger
	Shots  ledger.Shots
	// Die ends the session of the gateway as a crash does: its runs are for the others as soon
	// as the ledger has seen that. Calls by its Ledger reach the state all the same.
	Die func()
	// CutOff lets the lease of the gateway be over for all others; it does not know of that.
	CutOff func()
}

// few are limits that are in the way of few tests.
var few = Options{MaxRuns: 8, MaxQueue: 64, MaxLane: 8}

// Contract checks what every ledger does. Open makes a state of its own for each test.
func Contract(t *testing.T, open func(t *testing.T) World) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, World){
		"AKeyIsOneRunOnAllGateways":                  keyIsOneRun,
		"AnEndIsTheAnswerOfItsKey":                   endIsTheAnswer,
		"TheRuleOfJoiningKnowsWhatClientsHad":        rule,
		"AClaimTakesAFreeSlot":                       freeSlot,
		"ARunThatWasDroppedIsForgotten":              dropped,
		"ARunIsFoundByItsConversation":               byConversation,
		"WhatIsSentIsKnownToTheNextGateway":          request,
		"ADeadGatewaysRunIsTakenOver":                takenOver,
		"AGatewayIsDeadAfterItsLease":                cutOff,
		"OneThatIsFencedNotesNothing":                fenced,
		"AReleasedRunIsTheNextOnes":                  released,
		"OneWhoAwaitsARunTakesItOver":                awaited,
		"OrphansAreTakenOverOnce":                    orphans,
		"ARunThatWaitsIsForgottenWithoutAClient":     forgotten,
		"AGatewayThatIsBackKeepsTheRunsThatWait":     back,
		"OwnedAreTheRunsOfOneGateway":                owned,
		"ALateRunIsInterruptedWhenItsOtherIsOver":    late,
		"WatchersOfLivingGatewaysCount":              watchers,
		"AConversationHasOneRunAtATimeInOrder":       inOrder,
		"LanesAndQueuesAreBounded":                   bounded,
		"ASlotGoesToTheTokenWithTheFewestRuns":       fair,
		"AStopReachesEveryGateway":                   stopped,
		"AStopOfAKeyMeansItsRun":                     stoppedByKey,
		"AStopOfARunThatWaitsInterruptsNothing":      stoppedWaiting,
		"AStoppedRunEndsAsStopped":                   stoppedEnds,
		"AOneShotIsRemovedOnceWhenItsTimeHasCome":    shotIsRemoved,
		"AOneShotOfADeadGatewayIsRemovedInTheEnd":    shotOfTheDead,
		"ARemovalThatFailsIsDueAgain":                shotFails,
		"NoRunBeginsInAConversationThatIsBeingEmpty": shotAlone,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

// pair joins two gateways.
func pair(t *testing.T, w World) (a, b Gateway) {
	t.Helper()
	return w.Join(t, few), w.Join(t, few)
}

// asks is a claim of a client.
func asks(token, key, conversation string) ledger.Claim {
	c := ledger.Claim{Token: token, Print: []byte(token + conversation), Conversation: conversation, Request: []byte("go")}
	if key != "" {
		c.Key = []byte(key)
	}
	return c
}

// claim claims a run and checks what was found.
func claim(t *testing.T, g Gateway, c ledger.Claim, want ledger.Kind) ledger.Found {
	t.Helper()
	f, err := g.Ledger.Claim(t.Context(), c)
	if err != nil || f.Kind != want {
		t.Fatalf("Claim: kind %d, %v; want kind %d", f.Kind, err, want)
	}
	return f
}

// mine makes a run in a conversation of its own.
func mine(t *testing.T, g Gateway, token, key string) ledger.Found {
	t.Helper()
	return claim(t, g, asks(token, key, uuid.New()), ledger.Mine)
}

// begin brings a run so far that its message is sent.
func begin(t *testing.T, g Gateway, f ledger.Found) {
	t.Helper()
	must(t, g.Ledger.Turn(soon(t, time.Minute), f.Ticket), g.Ledger.Sending(t.Context(), f.Ticket, baseline, nil, true))
}

// soon bounds what does not take long.
func soon(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// must fails the test for any error.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("ledger: %v", err)
	}
}

// wantErr checks the error of a call.
func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error %v, want %v", what, got, want)
	}
}

// nothing interrupts nothing.
func nothing(context.Context) error { return nil }
