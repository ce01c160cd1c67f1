package pg_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// ended is a conversation that had a run, which is over.
func ended(t *testing.T, r *pg.Replica) string {
	t.Helper()
	f := claimed(t, r, uuid.New())
	must(t, r.End(t.Context(), f.Ticket, ledger.Ending{}))
	return f.Conversation
}

func claimed(t *testing.T, r *pg.Replica, conversation string) ledger.Found {
	t.Helper()
	f, err := r.Claim(t.Context(), ledger.Claim{Token: "t", Print: []byte(uuid.New()), Conversation: conversation})
	must(t, err)
	return f
}

// due removes what is due, and gives it.
func due(t *testing.T, s *pg.Shots, again time.Duration) (removed []string) {
	t.Helper()
	for {
		found, err := s.Due(t.Context(), time.Hour, func(_ context.Context, id string, _ int) time.Duration {
			removed = append(removed, id)
			return again
		})
		must(t, err)
		if !found {
			return removed
		}
	}
}

func TestAOneShotIsRemovedOnceWhenItsTimeHasCome(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 8), join(t, db, 8)
	s := a.Shots()
	over, later, kept, held, plain := ended(t, a), ended(t, a), ended(t, a), ended(t, a), ended(t, a)
	for _, id := range []string{over, later, kept, held} {
		must(t, s.Add(t.Context(), id))
		must(t, s.Ends(t.Context(), id, 0))
	}
	must(t, s.Ends(t.Context(), later, time.Hour), b.Shots().Keep(t.Context(), kept), b.Shots().Hold(t.Context(), held), s.Ends(t.Context(), plain, 0))
	if got := due(t, b.Shots(), time.Hour); !slices.Equal(got, []string{over}) { // which fails
		t.Errorf("due are %v, want %s", got, over)
	}
	if got := due(t, s, 0); len(got) != 0 {
		t.Errorf("tried again at once: %v", got)
	}
	must(t, s.Ends(t.Context(), over, 0))
	if got := due(t, s, 0); !slices.Equal(got, []string{over}) {
		t.Errorf("due are %v, want %s", got, over)
	}
	if got := slices.Concat(due(t, s, 0), due(t, b.Shots(), 0)); len(got) != 0 {
		t.Errorf("removed again: %v", got)
	}
}

func TestAOneShotOfADeadGatewayIsRemovedInTheEnd(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 8), join(t, db, 8)
	id := ended(t, a)
	must(t, a.Shots().Add(t.Context(), id))
	a.Die() // before anybody said when its time is over
	if got := due(t, b.Shots(), 0); len(got) != 0 {
		t.Errorf("removed at once: %v", got)
	}
	_, err := db.Query(t.Context(), "UPDATE conversations SET used_at = now() - interval '2 hours'")
	must(t, err)
	if got := due(t, b.Shots(), 0); len(got) != 0 {
		t.Errorf("removed although its run has just ended: %v", got)
	}
	_, err = db.Query(t.Context(), "UPDATE runs SET ended_at = now() - interval '2 hours'")
	must(t, err)
	if got := due(t, b.Shots(), 0); !slices.Equal(got, []string{id}) {
		t.Errorf("due are %v, want %s", got, id)
	}
}

func TestNoRunBeginsInAConversationThatIsBeingRemoved(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 8), join(t, db, 8)
	id := ended(t, a)
	must(t, a.Shots().Add(t.Context(), id), a.Shots().Ends(t.Context(), id, 0))
	var wg sync.WaitGroup
	defer wg.Wait()
	got := make(chan ledger.Found, 1)
	found, err := a.Shots().Due(t.Context(), time.Hour, func(context.Context, string, int) time.Duration {
		wg.Go(func() { got <- claimed(t, b, id) })
		waitFor(t, "a claim that waits", func() bool {
			rows, err := db.Query(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
			must(t, err)
			return rows[0][0] != "0"
		})
		return 0
	})
	if err != nil || !found {
		t.Fatalf("%v, %v", found, err)
	}
	f := <-got
	if f.Kind != ledger.Mine {
		t.Fatalf("the claim found %+v", f)
	}
	if ok, err := a.Shots().Alone(t.Context(), id, func(context.Context) error { return errors.New("called") }); ok || err != nil {
		t.Errorf("Alone beside a run: %v, %v", ok, err)
	}
	must(t, a.Shots().Add(t.Context(), id), a.Shots().Ends(t.Context(), id, 0))
	if got := due(t, a.Shots(), 0); len(got) != 0 {
		t.Errorf("removed under its run: %v", got)
	}
	must(t, b.End(t.Context(), f.Ticket, ledger.Ending{}))
	if ok, err := a.Shots().Alone(t.Context(), id, func(context.Context) error { return nil }); !ok || err != nil {
		t.Errorf("Alone: %v, %v", ok, err)
	}
}

func TestAGatewayThatDiesWhileItRemovesLeavesItToAnother(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 8), join(t, db, 8)
	id := ended(t, a)
	must(t, a.Shots().Add(t.Context(), id), a.Shots().Ends(t.Context(), id, 0))
	ctx, die := context.WithCancel(t.Context())
	_, err := a.Shots().Due(ctx, time.Hour, func(context.Context, string, int) time.Duration {
		if got := due(t, b.Shots(), 0); len(got) != 0 {
			t.Errorf("two remove it: %v", got)
		}
		die() // with its connection
		return 0
	})
	if err == nil {
		t.Error("a dead gateway removes")
	}
	waitFor(t, "a removal by the other", func() bool { return slices.Equal(due(t, b.Shots(), 0), []string{id}) })
}

// shooter is a manager of a gateway that shares its one-shots.
func (p *pool) shooter(t *testing.T, ttl time.Duration) (*run.Manager, *pg.Replica) {
	t.Helper()
	return p.shooterOf(t, ttl, 8)
}

func (p *pool) shooterOf(t *testing.T, ttl time.Duration, runs int) (*run.Manager, *pg.Replica) {
	t.Helper()
	r := join(t, p.db, runs)
	m, err := run.New(run.Config{Backend: p.backend, Ledger: r, Shots: r.Shots(), Owners: r.Owners(), MaxRuns: runs, Workspace: "/tmp", Grace: time.Second, OneShotTTL: ttl})
	must(t, err)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m, r
}

func answerOf(t *testing.T, m *run.Manager, req run.Request) (conversation string) {
	t.Helper()
	a, err := m.Submit(t.Context(), req)
	must(t, err)
	_, _, err = read(t, a)
	must(t, err)
	return a.ConversationID()
}

func (p *pool) has(t *testing.T, conversation string) bool {
	t.Helper()
	_, err := p.backend.About(t.Context(), conversation)
	if err != nil && !errors.Is(err, agentapi.ErrConversationNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

func TestAOneShotThatIsContinuedAtAnotherGatewayStays(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.llm.On(llmtest.Says("hello"), llmtest.Text("hi"))
	p.llm.On(llmtest.Says("go on"), llmtest.Text("ok"))
	a, _ := p.shooter(t, 15*time.Minute)
	b, r := p.shooter(t, 15*time.Minute)
	kept, left := answerOf(t, a, request("hello", "", "")), answerOf(t, a, request("hello", "again", ""))
	answerOf(t, b, request("go on", "", kept))
	waitFor(t, "the end of the other's time to be known", func() bool {
		rows, err := p.db.Query(t.Context(), "SELECT id FROM conversations WHERE once AND ends_at IS NOT NULL")
		must(t, err)
		return len(rows) == 1 && rows[0][0] == left
	})
	must(t, r.Shots().Ends(t.Context(), kept, 0), r.Shots().Ends(t.Context(), left, 0))
	waitFor(t, "the removal of the one that nobody continued", func() bool { return !p.has(t, left) })
	if !p.has(t, kept) {
		t.Error("the one that was continued is gone")
	}
}

func TestAConversationIsRemovedWhileAnotherGatewayRunsIt(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	feed := make(chan string)
	defer close(feed)
	p.llm.On(llmtest.Says("hello"), llmtest.Reply{Feed: feed})
	a, _ := p.shooter(t, time.Hour)
	b, _ := p.shooter(t, time.Hour)
	conv := uuid.New()
	first, err := a.Admit(request("hello", "", conv))
	must(t, err)
	waitFor(t, "a run", func() bool { return len(p.llm.Requests()) == 1 })
	if _, err := b.Condense(t.Context(), run.Access{Person: true}, conv); !errors.Is(err, agentapi.ErrBusy) {
		t.Errorf("summarized beside a run: %v", err)
	}
	must(t, b.Remove(t.Context(), run.Access{Person: true}, conv))
	if p.has(t, conv) {
		t.Error("it is still there")
	}
	if _, _, err := read(t, first); err == nil {
		if res, _ := first.Result(); res.Outcome != turn.Interrupted {
			t.Errorf("the run ended as %v", res.Outcome)
		}
	}
}

// TestAClaimNotesAOneShot: that it is one, and whose.
func TestAClaimNotesAOneShot(t *testing.T) {
	t.Parallel()
	r := join(t, database(t), 8)
	c := asks("t", "", uuid.New())
	c.Once, c.Owned = true, true
	f := claim(t, r, c, ledger.Mine)
	owner, err := r.Owners().Owner(f.Conversation)
	must(t, err, r.End(t.Context(), f.Ticket, ledger.Ending{}), r.Shots().Ends(t.Context(), f.Conversation, 0))
	if gone := due(t, r.Shots(), 0); !f.Noted || owner != "t" || !slices.Equal(gone, []string{f.Conversation}) {
		t.Errorf("noted: %v, the owner is %q, removed is %v", f.Noted, owner, gone)
	}
	other := claim(t, r, asks("t", "", uuid.New()), ledger.Mine)
	owner, err = r.Owners().Owner(other.Conversation)
	must(t, err, r.End(t.Context(), other.Ticket, ledger.Ending{}), r.Shots().Ends(t.Context(), other.Conversation, 0))
	if gone := due(t, r.Shots(), 0); owner != "" || len(gone) != 0 {
		t.Errorf("of one that is kept, the owner is %q, removed is %v", owner, gone)
	}
}

// TestAOneShotThatWasNotMadeLeavesNothing: its run ended before, or the agent-server did
// not make it.
func TestAOneShotThatWasNotMadeLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	feed := make(chan string)
	p.llm.On(llmtest.Says("first"), llmtest.Reply{Feed: feed})
	m, _ := p.shooterOf(t, time.Hour, 1)
	ask := func(text, profile string) *run.Attachment {
		req := request(text, "", "")
		req.Access, req.Profile = run.Access{Token: "t"}, profile
		a, err := m.Submit(t.Context(), req)
		must(t, err)
		return a
	}
	noted := func() (n [2]string) {
		rows, err := p.db.Query(t.Context(), "SELECT (SELECT count(*) FROM conversations WHERE once), (SELECT count(*) FROM owners)")
		must(t, err)
		return [2]string(rows[0])
	}
	first := ask("first", "fast")
	waitFor(t, "a run", func() bool { return len(p.llm.Requests()) == 1 })
	second := ask("second", "fast")
	if got := noted(); got != [2]string{"2", "2"} {
		t.Errorf("noted are %v", got)
	}
	second.Close() // it waited
	waitFor(t, "the second to be forgotten", func() bool { return noted() == [2]string{"1", "1"} })
	close(feed)
	_, _, err := read(t, first)
	must(t, err)
	if _, _, err := read(t, ask("third", "nosuch")); err == nil {
		t.Error("a profile that is not there has answered")
	}
	waitFor(t, "the third to be forgotten", func() bool { return noted() == [2]string{"1", "1"} })
}
