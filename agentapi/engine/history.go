package engine

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/internal/uuid"
)

// About describes a conversation from its files: it need not be open here.
func (b *Backend) About(ctx context.Context, id string) (agentapi.About, error) {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return agentapi.About{}, apierr.NotFound(id)
	}
	d, err := store.Describe(b.cfg.Dir, id)
	if err != nil {
		return agentapi.About{}, agentapi.InProcess(b.opening.Explain(ctx, id, err))
	}
	profile := d.Tags[conversation.TagProfile]
	if name := d.Tags[tag.Agent]; name != "" {
		profile = agentapi.AgentProfile(name)
	}
	return agentapi.About{ID: id, Created: d.Created, Title: d.Title, Profile: profile}, nil
}

// Events reads a page of the log from its files, which a run may be writing.
func (b *Backend) Events(ctx context.Context, id string, q agentapi.EventQuery) (agentapi.EventPage, error) {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return agentapi.EventPage{}, apierr.NotFound(id)
	}
	events, next, err := store.Page(b.cfg.Dir, id, q.From, q.Newest, q.Size())
	switch {
	case errors.Is(err, store.ErrNoEvent):
		return agentapi.EventPage{}, agentapi.InProcess(agentapi.UnknownEvent(q.From))
	case err != nil:
		return agentapi.EventPage{}, agentapi.InProcess(b.opening.Explain(ctx, id, err))
	}
	return agentapi.EventPage{Events: events, Next: next}, nil
}
