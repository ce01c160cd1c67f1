package ledgertest

import (
	"slices"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/uuid"
)

// baseline is where the turns of the contract begin.
var baseline = turn.Baseline{After: "event", Usage: turn.Usage{PromptTokens: 3}}

func keyIsOneRun(t *testing.T, w World) {
	a, b := pair(t, w)
	conversation := uuid.New()
	kinds := make([]ledger.Kind, 20)
	var wg sync.WaitGroup
	for i := range kinds {
		wg.Go(func() {
			f, err := []Gateway{a, b}[i%2].Ledger.Claim(t.Context(), asks("t", "key", conversation))
			if err != nil {
				t.Errorf("Claim: %v", err)
			}
			kinds[i] = f.Kind
		})
	}
	wg.Wait()
	made := 0
	for _, k := range kinds {
		if k == ledger.Mine {
			made++
		}
	}
	if made != 1 {
		t.Errorf("the run was made %d times: %v", made, kinds)
	}
	other := asks("t", "key", conversation)
	other.Print = []byte("another request")
	_, err := b.Ledger.Claim(t.Context(), other)
	wantErr(t, "another request with the key", err, ledger.ErrConflict)
	if f := mine(t, b, "u", "key"); f.Run == 0 {
		t.Error("another token has no run of its own")
	}
}

func endIsTheAnswer(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "key")
	begin(t, a, f)
	must(t, a.Ledger.Secure(t.Context()), a.Ledger.Running(t.Context(), f.Ticket), a.Ledger.Started(t.Context(), f.Ticket, nothing))
	over := make(chan ledger.Found, 1)
	go func() {
		got, err := b.Ledger.Await(t.Context(), f.Run)
		if err != nil {
			t.Errorf("Await: %v", err)
		}
		over <- got
	}()
	must(t, a.Ledger.End(t.Context(), f.Ticket, ledger.Ending{Result: []byte("answer"), Stop: "gone", Usage: turn.Usage{PromptTokens: 5}}))
	got := <-over
	if string(got.Ending.Result) != "answer" || got.Ending.Stop != "gone" || got.Baseline != baseline || got.Kind != ledger.Closed {
		t.Errorf("another gateway reads %+v", got)
	}
	if got := claim(t, b, asks("t", "key", f.Conversation), ledger.Closed); string(got.Ending.Result) != "answer" || got.Phase != ledger.Ended {
		t.Errorf("its key finds %+v", got)
	}
	wantErr(t, "a second end", a.Ledger.End(t.Context(), f.Ticket, ledger.Ending{}), ledger.ErrFenced)
}

func rule(t *testing.T, w World) {
	a, b := pair(t, w)
	c := asks("t", "", uuid.New())
	c.Revision = "1"
	first := claim(t, a, c, ledger.Mine)
	c.Joins = func([]ledger.Past) int { return -1 }
	claim(t, b, c, ledger.Mine)
	must(t, a.Ledger.Left(t.Context(), first.Run, false))
	c.Joins = func(past []ledger.Past) int {
		return slices.IndexFunc(past, func(p ledger.Past) bool { return p.Owed == 1 && !p.Ended && !p.Now.IsZero() && p.Revision == "1" })
	}
	if f := claim(t, b, c, ledger.There); f.Run != first.Run {
		t.Errorf("joined run %d, want %d", f.Run, first.Run)
	}
	claim(t, a, c, ledger.Here)
	begin(t, a, first)
	must(t, a.Ledger.End(t.Context(), first.Ticket, ledger.Ending{Failed: true}), a.Ledger.Delivered(t.Context(), first.Run), a.Ledger.Left(t.Context(), first.Run, true))
	c.Joins = func(past []ledger.Past) int {
		p := past[0]
		if len(past) != 2 || !p.Ended || !p.Failed || p.Owed != 0 || p.Deliveries != 1 || p.DeliveredAt.Before(p.EndedAt) || !p.FirstAt.Equal(p.DeliveredAt) {
			t.Errorf("the rule is given %+v", past)
		}
		return 0
	}
	claim(t, b, c, ledger.Closed)
	keyed := c
	keyed.Key = []byte("key")
	claim(t, b, keyed, ledger.Mine) // a key has no rule
	other := c
	other.Token, other.Joins = "u", func(past []ledger.Past) int {
		if len(past) != 0 {
			t.Errorf("another token is given %+v", past)
		}
		return -1
	}
	claim(t, b, other, ledger.Mine)
}

func freeSlot(t *testing.T, w World) {
	g := w.Join(t, Options{MaxRuns: 1, MaxQueue: 64, MaxLane: 8})
	first, second := mine(t, g, "t", ""), mine(t, g, "t", "key")
	if !first.Slot || second.Slot {
		t.Errorf("the first has a slot: %v, the second: %v", first.Slot, second.Slot)
	}
	must(t, g.Ledger.Sending(t.Context(), first.Ticket, baseline, nil, false), g.Ledger.Running(t.Context(), first.Ticket), g.Ledger.End(t.Context(), first.Ticket, ledger.Ending{}))
	begin(t, g, second)
	if lane := claim(t, g, asks("t", "", second.Conversation), ledger.Mine); lane.Slot {
		t.Error("the second run of a conversation has a slot beside the first")
	}
}

func dropped(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "key")
	must(t, a.Ledger.Drop(t.Context(), f.Ticket))
	again := claim(t, b, asks("t", "key", f.Conversation), ledger.Mine)
	if again.Run == f.Run {
		t.Errorf("run %d came again", f.Run)
	}
	_, err := b.Ledger.Find(t.Context(), f.Run)
	wantErr(t, "the one that was dropped", err, ledger.ErrFenced)
	wantErr(t, "its turn", a.Ledger.Turn(t.Context(), f.Ticket), ledger.ErrFenced)
}

func byConversation(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "")
	begin(t, a, f)
	must(t, a.Ledger.End(t.Context(), f.Ticket, ledger.Ending{Result: []byte("answer")}))
	claim(t, a, asks("t", "", f.Conversation), ledger.Mine)
	claim(t, b, asks("t", "", f.Conversation), ledger.Mine)
	runs, err := b.Ledger.Runs(t.Context(), f.Conversation)
	must(t, err)
	kinds := map[ledger.Kind]int{}
	for _, found := range runs {
		kinds[found.Kind]++
	}
	if len(runs) != 3 || kinds[ledger.Closed] != 1 || kinds[ledger.There] != 1 || kinds[ledger.Here] != 1 {
		t.Errorf("the runs of the conversation are %+v", runs)
	}
}

func request(t *testing.T, w World) {
	a, b := pair(t, w)
	f := mine(t, a, "t", "key")
	if got := claim(t, b, asks("t", "key", f.Conversation), ledger.There); string(got.Request) != "go" || got.Token != "t" || string(got.Print) != "t"+f.Conversation {
		t.Errorf("before it is sent: %+v", got)
	}
	must(t, a.Ledger.Turn(soon(t, patience), f.Ticket), a.Ledger.Sending(t.Context(), f.Ticket, baseline, []byte("hello"), true))
	if got := claim(t, b, asks("t", "key", f.Conversation), ledger.There); string(got.Request) != "hello" || got.Phase != ledger.Sending || got.Baseline != baseline {
		t.Errorf("while it is sent: %+v", got)
	}
	must(t, a.Ledger.Running(t.Context(), f.Ticket))
	got, err := b.Ledger.Find(t.Context(), f.Run)
	if err != nil || got.Kind != ledger.There || got.Phase != ledger.Running {
		t.Errorf("while it runs: %+v, %v", got, err)
	}
}
