package pg_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Many repeats that have to wait for something in the database do not keep a new request from its
// run.
func TestRepeatsLeaveRoomForNewRequests(t *testing.T) {
	t.Parallel()
	r := join(t, database(t), 4)
	l := r.Ledger()
	ask := asks("t", "", uuid.New())
	ask.Joins = func([]ledger.Past) int { return -1 }
	first := claim(t, l, ask, ledger.Mine)
	send(t, l, first)
	must(t, l.End(t.Context(), first.Ticket, ledger.Ending{}))
	var repeats sync.WaitGroup
	alone, err := r.Shots().Alone(t.Context(), ask.Conversation, func(context.Context) error {
		for range 40 { // more than there are connections
			repeats.Go(func() {
				if _, err := l.Claim(t.Context(), ask); err != nil && !errors.Is(err, ledger.ErrLaneFull) {
					t.Error(err)
				}
			})
		}
		waittest.Until(t, waittest.Patience, "repeats wait", func() (any, bool) { return l.Repeats(), l.Repeats() == 8 })
		_, err := l.Claim(soon(t, waittest.Patience), asks("t", "", uuid.New()))
		return err
	})
	if err != nil || !alone {
		t.Errorf("new request beside repeats that wait: %v, %v", alone, err)
	}
	repeats.Wait()
}

// due removes what is due, and returns it.
func due(t *testing.T, s *pg.Shots) (removed []string) {
	t.Helper()
	for {
		found, err := s.Due(t.Context(), time.Hour, func(_ context.Context, id string, _ int) time.Duration {
			removed = append(removed, id)
			return 0
		})
		must(t, err)
		if !found {
			return removed
		}
	}
}

// once is a one-shot whose time has come. Its claim has noted that it is one.
func once(t *testing.T, r *pg.Replica) string {
	t.Helper()
	c := asks("t", "", uuid.New())
	c.Once = true
	f := claim(t, r.Ledger(), c, ledger.Mine)
	must(t, r.Ledger().End(t.Context(), f.Ticket, ledger.Ending{}), r.Shots().Ends(t.Context(), f.Conversation, 0))
	return f.Conversation
}

func TestAGatewayThatDiesWhileItRemovesLeavesItToAnother(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 8), join(t, db, 8)
	id := once(t, a)
	ctx, die := context.WithCancel(t.Context())
	_, err := a.Shots().Due(ctx, time.Hour, func(context.Context, string, int) time.Duration {
		if got := due(t, b.Shots()); len(got) != 0 {
			t.Errorf("removed by two gateways: %v", got)
		}
		die() // with its connection
		return 0
	})
	if err == nil {
		t.Error("a gateway that died has removed a conversation")
	}
	waittest.Until(t, waittest.Patience, "the other gateway removes it", func() (any, bool) {
		got := due(t, b.Shots())
		return got, slices.Equal(got, []string{id})
	})
}

func TestNoRunBeginsInAConversationThatIsBeingRemoved(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 8), join(t, db, 8)
	id := once(t, a)
	got := make(chan ledger.Found, 1)
	found, err := a.Shots().Due(t.Context(), time.Hour, func(context.Context, string, int) time.Duration {
		go func() {
			f, err := b.Ledger().Claim(t.Context(), asks("t", "", id))
			if err != nil {
				t.Error(err)
			}
			got <- f
		}()
		waittest.Until(t, waittest.Patience, "a claim waits", func() (any, bool) {
			n := rows(t, db, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")[0][0]
			return n, n != "0"
		})
		return 0
	})
	if err != nil || !found {
		t.Fatalf("Due: %v, %v", found, err)
	}
	if f := <-got; f.Kind != ledger.Mine {
		t.Errorf("the claim found %+v", f)
	}
}
