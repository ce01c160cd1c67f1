package engine

import (
	"context"
	"encoding/json"

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

// SwitchLLM makes the following calls go to another model.
func (c controlledConversation) SwitchLLM(context.Context, json.RawMessage) error { return errNotYet }

// Copy makes a new conversation that knows the log of this one.
func (c controlledConversation) Copy(context.Context, control.Fork) (control.Conversation, error) {
	return nil, errNotYet
}
