package pg_test

import (
	"errors"
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
	c := chats.Open(chats.Config{Shared: r.Chats(), Now: time.Now, Loose: time.Minute})
	t.Cleanup(c.Close)
	return c
}

func TestChatsKeepTheContractOfFiles(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := join(t, db, 1), join(t, db, 1)
	chatstest.Run(t, func(t *testing.T) (*chats.Registry, *chats.Registry) {
		t.Helper()
		return registry(t, a), registry(t, b)
	})
}

// TestTurnsOfADeadGatewayDoNotWaitForEver: what it had begun was said, the rest was not.
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

// TestADeadGatewayIsDeadForAllThatAskAtOnce: none of them takes another for it.
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
			t.Error(err)
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
		t.Errorf("%q of %d, %v", data, now, err)
	}
	if data, now, err = a.Load(t.Context(), "k", next); data != nil || now != next || err != nil {
		t.Errorf("what is known: %q of %d, %v", data, now, err)
	}
	must(t, a.Sweep(t.Context(), time.Hour))
	_, err = db.Query(t.Context(), "UPDATE chats SET used_at = now() - interval '2 hours'")
	must(t, err, a.Sweep(t.Context(), time.Hour))
	if data, now, err = a.Load(t.Context(), "k", 0); data != nil || now != 0 || err != nil {
		t.Errorf("after a sweep: %q of %d, %v", data, now, err)
	}
}
