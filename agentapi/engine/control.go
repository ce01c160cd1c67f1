package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/uuid"
)

// controlled is the backend as OpenHands' own programs see it.
type controlled struct{ b *Backend }

var _ control.Engine = controlled{}

// Control is the backend as OpenHands' own programs see it: the same conversations,
// with the same locks and the same queues.
func (b *Backend) Control() control.Engine { return controlled{b} }

// Log is the directory of a conversation.
func (c controlled) Log(id string) (string, error) {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id || !store.Exists(c.b.cfg.Dir, id) {
		return "", apierr.NotFound(id)
	}
	return store.Path(c.b.cfg.Dir, id), nil
}

// Remove deletes a conversation.
func (c controlled) Remove(ctx context.Context, id string) error { return c.b.Remove(ctx, id) }

// controlledConversation is a handle with what OpenHands' own programs may ask of a
// conversation besides. What is about its run is in control_run.go.
type controlledConversation struct{ *handle }

var _ control.Conversation = controlledConversation{}

// Open continues a conversation.
func (c controlled) Open(ctx context.Context, id string) (control.Conversation, error) {
	return inControl(c.b.Open(ctx, agentapi.OpenRequest{ID: id, Existing: true}))
}

// inControl is what the backend has opened for OpenHands' own programs.
func inControl(conv agentapi.Conversation, err error) (control.Conversation, error) {
	if err != nil {
		return nil, err
	}
	return controlledConversation{conv.(*handle)}, nil
}

// Record is the conversation as it is now.
func (c controlledConversation) Record(ctx context.Context) (control.Record, error) {
	return controlled{c.backend}.Record(ctx, c.info.ID)
}
