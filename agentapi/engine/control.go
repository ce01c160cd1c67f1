package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/library"
)

// controlled is the backend as OpenHands' own programs see it: what reads conversations is
// the library, and what changes them or opens them is here.
type controlled struct {
	*library.Library

	b *Backend
}

var _ control.Engine = controlled{}

// Control is the backend as OpenHands' own programs see it: the same conversations,
// with the same locks and the same queues.
func (b *Backend) Control() control.Engine { return controlled{b.library, b} }

var _ control.Library = controlled{}

// Library is the conversations of the backend, for programs that open none of them.
func (b *Backend) Library() control.Library { return controlled{b.library, b} }

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
	return c.backend.library.Record(ctx, c.info.ID)
}
