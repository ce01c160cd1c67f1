package backendtest

import (
	"context"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/uuid"
)

// absences lists requests about conversations that do not exist: never made, or
// removed while a caller had a handle.
func absences() []behaviour {
	list := []behaviour{
		{name: "UnknownConversationIsNotMadeByExisting", check: func(t *testing.T, s *Setup) {
			for _, profile := range []string{"", s.Profile, "no-such-profile"} {
				s.wantAbsent(t, agentapi.OpenRequest{ID: uuid.New(), Existing: true, Profile: profile, Workspace: s.Workspace})
			}
		}},
		{name: "RemovedConversationIsNotMadeByExisting", check: func(t *testing.T, s *Setup) {
			s.wantAbsent(t, agentapi.OpenRequest{ID: s.removed(t).Info().ID, Existing: true})
		}},
		{name: "ExistingConversationIsOpenedAsItIs", check: func(t *testing.T, s *Setup) {
			id := s.open(t).Info().ID
			c, err := s.Backend.Open(within(t, patience), agentapi.OpenRequest{ID: id, Existing: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if info := c.Info(); info.ID != id || info.Created || info.Profile != s.Profile || info.Workspace != s.Workspace {
				t.Errorf("Info() = %+v", info)
			}
		}},
		{name: "NewAndExistingAreRefusedTogether", check: func(t *testing.T, s *Setup) {
			_, err := s.Backend.Open(within(t, patience), agentapi.OpenRequest{
				ID: uuid.New(), New: true, Existing: true, Profile: s.Profile, Workspace: s.Workspace,
			})
			wantKind(t, err, agentapi.ErrRefused)
		}},
		{name: "NewConversationNeedsAProfile", check: func(t *testing.T, s *Setup) {
			id := uuid.New()
			_, err := s.Backend.Open(within(t, patience), agentapi.OpenRequest{ID: id, New: true, Workspace: s.Workspace})
			wantKind(t, err, agentapi.ErrProfileNotFound)
			wantKind(t, s.Backend.Remove(within(t, patience), id), agentapi.ErrConversationNotFound)
		}},
	}
	return append(list, absentHandles()...)
}

// absentHandles ask a handle whose conversation was removed.
func absentHandles() []behaviour {
	var list []behaviour
	for _, q := range []struct {
		name string
		has  func(Features) bool
		ask  func(context.Context, *Setup, agentapi.Conversation) error
	}{
		{"State", nil, func(ctx context.Context, _ *Setup, c agentapi.Conversation) error {
			_, err := c.State(ctx)
			return err
		}},
		{"Watch", nil, func(ctx context.Context, _ *Setup, c agentapi.Conversation) error { return watchOnce(ctx, c, "") }},
		{"WatchFromStart", nil, func(ctx context.Context, _ *Setup, c agentapi.Conversation) error {
			return watchOnce(ctx, c, agentapi.FromStart)
		}},
		{"Send", nil, func(ctx context.Context, _ *Setup, c agentapi.Conversation) error {
			return c.Send(ctx, agentapi.Message{Text: "hello"})
		}},
		{"Accept", nil, func(ctx context.Context, _ *Setup, c agentapi.Conversation) error {
			return c.Decide(ctx, agentapi.Decision{Accept: true})
		}},
		{"Reject", nil, func(ctx context.Context, _ *Setup, c agentapi.Conversation) error {
			return c.Decide(ctx, agentapi.Decision{Reason: "no"})
		}},
		{"Interrupt", nil, func(ctx context.Context, _ *Setup, c agentapi.Conversation) error { return c.Interrupt(ctx) }},
		{"Switch", hasSwitch, func(ctx context.Context, s *Setup, c agentapi.Conversation) error { return c.Switch(ctx, s.Other) }},
		{"Fork", hasFork, func(ctx context.Context, _ *Setup, c agentapi.Conversation) error {
			_, err := c.Fork(ctx, agentapi.ForkRequest{ID: uuid.New()})
			return err
		}},
		{"ForkFromAnEvent", hasFork, func(ctx context.Context, _ *Setup, c agentapi.Conversation) error {
			_, err := c.Fork(ctx, agentapi.ForkRequest{ID: uuid.New(), From: uuid.New()})
			return err
		}},
	} {
		list = append(list, behaviour{name: "RemovedConversation" + q.name, has: q.has, check: func(t *testing.T, s *Setup) {
			c := s.removed(t)
			wantKind(t, q.ask(within(t, patience), s, c), agentapi.ErrConversationNotFound)
			s.wantAbsent(t, agentapi.OpenRequest{ID: c.Info().ID, Existing: true})
		}})
	}
	return list
}

// removed is a handle on a conversation that is not there any more.
func (s *Setup) removed(t *testing.T) agentapi.Conversation {
	t.Helper()
	c := s.open(t)
	if err := s.Backend.Remove(within(t, patience), c.Info().ID); err != nil {
		t.Fatal(err)
	}
	return c
}

// wantAbsent checks that there is no such conversation, before and after it
// was asked for.
func (s *Setup) wantAbsent(t *testing.T, req agentapi.OpenRequest) {
	t.Helper()
	c, err := s.Backend.Open(within(t, patience), req)
	if err == nil {
		_ = c.Close()
	}
	wantKind(t, err, agentapi.ErrConversationNotFound)
	wantKind(t, s.Backend.Remove(within(t, patience), req.ID), agentapi.ErrConversationNotFound)
}

// watchOnce returns the first error of a watch, from its opening or from its first
// event.
func watchOnce(ctx context.Context, c agentapi.Conversation, after string) error {
	stream, err := c.Watch(ctx, after)
	if err != nil {
		return err
	}
	defer stream.Close()
	_, err = stream.Next(ctx)
	return err
}
