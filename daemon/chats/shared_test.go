package chats_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/chats/chatstest"
)

// sharing opens the chats of one of several gateways.
func sharing(t *testing.T, s *chatstest.Side) *chats.Registry {
	t.Helper()
	r := chats.Open(chats.Config{Shared: s, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Loose: time.Minute})
	t.Cleanup(r.Close)
	return r
}

func TestRegistriesOfTheSameChatsAgree(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) (a, b *chats.Registry){
		"alone": func(t *testing.T) (a, b *chats.Registry) {
			r := registry(t, t.TempDir(), time.Now())
			return r, r
		},
		"shared": func(t *testing.T) (a, b *chats.Registry) {
			m := &chatstest.Memory{}
			return sharing(t, m.Join()), sharing(t, m.Join())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chatstest.Run(t, open)
		})
	}
}

func TestTheTurnsOfADeadGatewayAreBuried(t *testing.T) {
	t.Parallel()
	m := &chatstest.Memory{}
	dies := m.Join()
	a, b := sharing(t, dies), sharing(t, m.Join())
	first := visit(t, a, id("chat"), nil, "one", "1")
	v, err := a.Enter(chats.Request{ID: id("chat"), History: said("one", "1"), Text: "two"})
	if err == nil {
		err = v.Reserve()
	}
	if err != nil {
		t.Fatalf("Reserve: %v", err)
	}
	v.Settle(true)
	planned := func(text string) *chats.Visit {
		t.Helper()
		v, err := b.Enter(chats.Request{ID: id("chat"), History: said("one", "1"), Text: text})
		if err != nil {
			t.Fatalf("Enter: %v", err)
		}
		v.Close()
		return v
	}
	if v := planned("three"); v.Planned() != "forked" && v.Conversation == "" {
		t.Errorf("beside a turn of the other gateway: %s", v.Planned())
	}
	dies.Die()
	if v := planned("two"); v.Planned() != "continued" || v.Conversation != first.Conversation {
		t.Errorf("after its death: %s of %s, want continued of %s", v.Planned(), v.Conversation, first.Conversation)
	}
}

func TestChatsThatCannotBeReadAreNotGuessed(t *testing.T) {
	t.Parallel()
	m := &chatstest.Memory{}
	s := m.Join()
	a := sharing(t, s)
	first := visit(t, a, id("chat"), nil, "one", "1")
	s.Fail(errors.New("away"))
	if _, err := a.Enter(chats.Request{ID: id("chat"), History: said("one", "1"), Text: "two"}); !errors.Is(err, chats.ErrUnreadable) {
		t.Errorf("Enter without a store: %v", err)
	}
	s.Fail(nil)
	v, err := a.Enter(chats.Request{ID: id("chat"), History: said("one", "1"), Text: "two"})
	if err != nil {
		t.Fatalf("Enter: %v", err)
	}
	s.Fail(errors.New("away"))
	if err := v.Reserve(); !errors.Is(err, chats.ErrUnreadable) {
		t.Errorf("Reserve without a store: %v", err)
	}
	v.Close()
	s.Fail(nil)
	if got := visit(t, a, id("chat"), said("one", "1"), "two", "2"); got.Conversation != first.Conversation {
		t.Errorf("afterwards it runs in %s, want %s", got.Conversation, first.Conversation)
	}
}

// A change that could not be stored is stored with the next one.
func TestAChangeIsStoredLater(t *testing.T) {
	t.Parallel()
	m := &chatstest.Memory{}
	s := m.Join()
	a, b := sharing(t, s), sharing(t, m.Join())
	v, err := admit(a, chats.Request{ID: id("chat"), Text: "one"}, true)
	if err != nil {
		t.Fatalf("Enter: %v", err)
	}
	defer v.Close()
	v.Compose(agentapi.Info{Created: true}, false)
	v.Begin(turn.Baseline{After: "x"})
	v.Show("1")
	s.Fail(errors.New("away"))
	v.End(true, false)
	s.Fail(nil)
	v.Shown(v.Conversation)
	next := visit(t, b, id("chat"), said("one", "1"), "two", "2")
	if next.Planned() != "continued" || next.Conversation != v.Conversation {
		t.Errorf("the next message is %s of %s, want continued of %s", next.Planned(), next.Conversation, v.Conversation)
	}
}
