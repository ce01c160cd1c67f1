package pg_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/chats/chatstest"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/uuid"
)

func registry(t *testing.T, r *pg.Replica) *chats.Registry {
	t.Helper()
	c := chats.Open(chats.Config{Shared: r.Chats(), Now: time.Now, Logger: slog.New(slog.DiscardHandler), Loose: time.Minute})
	t.Cleanup(c.Close)
	return c
}

func TestChatsInPostgresKeepTheContract(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	chatstest.Run(t, func(t *testing.T) (*chats.Registry, *chats.Registry) {
		t.Helper()
		return registry(t, a), registry(t, b)
	})
}

// What a gateway had begun was said when it died, the rest was not.
func TestTurnsOfADeadGatewayDoNotWaitForEver(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	one, two := registry(t, a), registry(t, b)
	enter := func(r *chats.Registry, id chats.ID, history []openai.Turn, text string) *chats.Visit {
		t.Helper()
		v, err := r.Enter(chats.Request{ID: id, History: history, Text: text})
		must(t, err)
		must(t, v.Reserve())
		v.Settle(true)
		return v
	}
	named := func() chats.ID {
		return chats.ID{Token: "t", Model: "m", Source: "x-chat", Value: uuid.New(), Rules: chats.Rules{Whole: true}}
	}
	waits, begun := named(), named()
	first := enter(one, waits, nil, "one")
	second := enter(one, begun, nil, "one")
	second.Compose(agentapi.Info{Created: true}, false)
	second.Begin(turn.Baseline{After: "e-1"})
	a.Die()
	if v := enter(two, waits, nil, "one"); v.Planned() != string(chats.New) || v.Conversation == first.Conversation {
		t.Errorf("the request that waited is %s", v.Planned())
	}
	said := []openai.Turn{{Role: "user", Text: "one"}, {Role: "assistant", Text: "half an ans"}}
	if v := enter(two, begun, said, "two"); v.Planned() != string(chats.Continued) || v.Conversation != second.Conversation {
		t.Errorf("the one that had begun is %s", v.Planned())
	}
}

func TestADeadGatewayIsDeadForAllThatAskAtOnce(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	chat, conversation := uuid.New(), uuid.New()
	_, err := b.Chats().Save(t.Context(), chat, []byte("{}"), 0)
	must(t, err)
	alive := func() bool {
		is, err := b.Chats().Alive(t.Context(), a.Chats().Self(), chat, conversation)
		if err != nil {
			t.Errorf("Alive: %v", err)
		}
		return is
	}
	if !alive() {
		t.Error("one that lives, and whose chat was just saved, is dead")
	}
	a.Die()
	must(t, b.WhileAsking(t.Context(), a.ID(), func() {
		if alive() {
			t.Error("one that asks was taken for the gateway that it asks for")
		}
	}))
}

func TestAChatIsSavedOverNothingThatIsNewer(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1).Chats(), join(t, db, 1).Chats()
	rev, err := a.Save(t.Context(), "k", []byte("1"), 0)
	must(t, err)
	if _, err := b.Save(t.Context(), "k", []byte("x"), 0); !errors.Is(err, chats.ErrChanged) {
		t.Errorf("made twice: %v", err)
	}
	next, err := b.Save(t.Context(), "k", []byte("2"), rev)
	must(t, err)
	if _, err := a.Save(t.Context(), "k", []byte("x"), rev); !errors.Is(err, chats.ErrChanged) {
		t.Errorf("saved over a newer one: %v", err)
	}
	data, now, err := a.Load(t.Context(), "k", rev)
	if err != nil || string(data) != "2" || now != next {
		t.Errorf("Load: %q of %d, %v", data, now, err)
	}
	if data, now, err = a.Load(t.Context(), "k", next); data != nil || now != next || err != nil {
		t.Errorf("Load of what is known: %q of %d, %v", data, now, err)
	}
}

// readNoWholeTable checks that f reads none of some tables as a whole, even with plans that are
// made while they are empty.
func readNoWholeTable(t *testing.T, db *pg.DB, tables string, f func()) {
	t.Helper()
	rows(t, db, "ANALYZE")
	scans := func() string {
		t.Helper()
		rows(t, db, "SELECT pg_stat_force_next_flush()")
		return rows(t, db, "SELECT string_agg(relname || ' ' || seq_scan, ', ' ORDER BY relname) FROM pg_stat_user_tables WHERE relname = ANY ($1::text[])", tables)[0][0]
	}
	f()
	before := scans()
	for range 10 {
		f()
	}
	if after := scans(); after != before || before == "" {
		t.Errorf("whole tables were read: %s, then %s", before, after)
	}
}

func TestChatsReadNoWholeTable(t *testing.T) {
	t.Parallel()
	db := database(t)
	r, err := pg.Join(t.Context(), db, pg.Options{MaxRuns: 4, MaxQueue: 64, MaxLane: 8, Lease: 3 * time.Hour})
	must(t, err)
	t.Cleanup(r.Die)
	r.AwaitSign()
	s := r.Chats()
	readNoWholeTable(t, db, "{chats,loose,runs}", func() {
		key := uuid.New()
		rev, err := s.Save(t.Context(), key, []byte("1"), 0)
		must(t, err)
		_, err = s.Save(t.Context(), key, []byte("2"), rev)
		must(t, err)
		_, _, err = s.Load(t.Context(), key, 1)
		must(t, err)
		_, err = s.Alive(t.Context(), s.Self(), key, uuid.New())
		must(t, err, s.AddLoose(t.Context(), "place", []string{"a:2"}, []byte("r"), time.Hour))
		found, err := s.FindLoose(t.Context(), "place", []string{"a:2"})
		must(t, err)
		_, err = s.TakeLoose(t.Context(), found[0].ID)
		must(t, err, s.Sweep(t.Context(), time.Hour))
	})
}

func TestASweepForgetsWhatIsOld(t *testing.T) {
	t.Parallel()
	db := database(t)
	s := join(t, db, 1).Chats()
	_, err := s.Save(t.Context(), "k", []byte("1"), 0)
	must(t, err, s.AddLoose(t.Context(), "place", []string{"u:1", "a:2"}, []byte("r"), time.Hour), s.Sweep(t.Context(), time.Hour))
	left := func() (chat bool, loose int) {
		_, rev, err := s.Load(t.Context(), "k", 0)
		must(t, err)
		found, err := s.FindLoose(t.Context(), "place", []string{"a:2", "a:3"})
		must(t, err)
		return rev != 0, len(found)
	}
	if chat, loose := left(); !chat || loose != 1 {
		t.Errorf("left too early: a chat %v, %d without one", chat, loose)
	}
	rows(t, db, "UPDATE chats SET used_at = used_at - interval '2 hours'")
	rows(t, db, "UPDATE loose SET until = until - interval '2 hours'")
	if _, loose := left(); loose != 0 {
		t.Error("a conversation is found after its time")
	}
	must(t, s.Sweep(t.Context(), time.Hour))
	if chat, _ := left(); chat || rows(t, db, "SELECT count(*) FROM loose")[0][0] != "0" {
		t.Errorf("left after a sweep: a chat %v", chat)
	}
}
