package engine

import (
	"context"
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/control"
)

// Append takes a message into the log.
func (c controlledConversation) Append(context.Context, control.Message, bool) error {
	return errNotYet
}

// Run starts a run.
func (c controlledConversation) Run(context.Context) error { return errNotYet }

// Pause ends the run after the step in flight.
func (c controlledConversation) Pause(context.Context) error { return errNotYet }

// SetPolicy replaces the confirmation policy.
func (c controlledConversation) SetPolicy(context.Context, json.RawMessage) error { return errNotYet }

// SetAnalyzer replaces the security analyzer.
func (c controlledConversation) SetAnalyzer(context.Context, json.RawMessage) error {
	return errNotYet
}

// AddSecrets adds or replaces secrets.
func (c controlledConversation) AddSecrets(context.Context, map[string]json.RawMessage) error {
	return errNotYet
}

// Ask asks the model a question about the conversation.
func (c controlledConversation) Ask(context.Context, string) (string, error) { return "", errNotYet }

// Navigate makes an event the one that the next one is appended to.
func (c controlledConversation) Navigate(context.Context, string) error { return errNotYet }

// StartGoal runs the agent until its objective is reached.
func (c controlledConversation) StartGoal(context.Context, string, int) error { return errNotYet }

// StopGoal ends that after the step in flight.
func (c controlledConversation) StopGoal(context.Context) error { return errNotYet }

// ResumeGoal goes on.
func (c controlledConversation) ResumeGoal(context.Context) error { return errNotYet }
