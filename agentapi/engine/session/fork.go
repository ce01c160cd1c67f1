package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Fork begins another conversation with what this one knows; see
// [agentapi.Conversation].
func (s *Session) Fork(ctx context.Context, req agentapi.ForkRequest) (agentapi.Conversation, error) {
	state, events, err := s.of.Conv.Fork(ctx, req.ID, req.From)
	if errors.Is(err, store.ErrNoEvent) {
		return nil, apierr.Refused(fmt.Sprintf("The conversation has no event %q to fork at; use the id of an event in it.", req.From), err)
	}
	if err != nil {
		return nil, s.explain(err)
	}
	now := s.cfg.Now()
	made, err := s.open.CopyOf(ctx, Copying{
		State: state, Events: events, Profile: s.of.Info.Profile,
		Meta: store.Meta{Created: now, Updated: now, ForkedFrom: s.of.Info.ID, ForkedAt: req.From},
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// Copying is what a fork begins with.
type Copying struct {
	State   store.State
	Events  []event.Event
	Meta    store.Meta
	Profile string // which answers where the copy has no model of its own
}

// Copy makes a new conversation that knows the log of this one. It answers with the
// same model, whose key it has.
func (s Controlled) Copy(ctx context.Context, f control.Fork) (control.Conversation, error) {
	if f.ID == "" {
		f.ID = s.cfg.NewID()
	}
	if canonical, err := uuid.Parse(f.ID); err != nil || canonical != f.ID {
		return nil, agentapi.InProcess(apierr.Refused(fmt.Sprintf("%q is not a conversation id; use a UUID in lower case with dashes.", f.ID), err))
	}
	if err := tag.Check(f.Tags); err != nil {
		return nil, agentapi.InProcess(err)
	}
	state, events, err := s.of.Conv.Fork(ctx, f.ID, f.From)
	if errors.Is(err, store.ErrNoEvent) {
		return nil, agentapi.InProcess(apierr.Refused(fmt.Sprintf("The conversation has no event %q to fork at; use the id of an event in it.", f.From), control.ErrNoEvent))
	}
	if err != nil {
		return nil, s.explain(err)
	}
	if f.Tags != nil {
		state.Tags = tag.WithOwn(f.Tags, state.Tags)
	}
	if f.KeepMetrics {
		now, _, err := s.of.Conv.Record(ctx)
		if err != nil {
			return nil, s.explain(err)
		}
		state.Stats = now.Stats
	}
	now := s.cfg.Now()
	made, err := s.open.CopyOf(ctx, Copying{
		State: state, Events: events, Profile: s.of.Info.Profile,
		Meta: store.Meta{Created: now, Updated: now, ForkedFrom: s.of.Info.ID, ForkedAt: f.From, Title: f.Title},
	})
	if err != nil {
		return nil, err
	}
	if f.KeepMetrics {
		if err := store.CopyCalls(s.cfg.Dir, s.of.Info.ID, f.ID); err != nil {
			s.cfg.Log.Warn("the statistics of a copy lack calls of the model", "conversation", f.ID, "err", err)
		}
	}
	return Controlled{made}, nil
}
