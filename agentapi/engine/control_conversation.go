package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
)

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
