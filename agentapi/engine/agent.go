package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/internal/fault"
)

// confirm is the policy of a new conversation, and its analyzer: what was chosen for this
// engine, or else what the settings say. A nil value leaves what OpenHands begins with.
func (s Settings) confirm(chosen agentapi.Confirmation) (policy, analyzer json.RawMessage) {
	if chosen == "" {
		chosen = s.Confirm
	}
	chosen = chosen.Stricter(s.least)
	if s.Analyzer || chosen == agentapi.ConfirmRisky { // without an analyzer everything would be risky
		analyzer = json.RawMessage(agentapi.AnalyzerLLM)
	}
	if chosen != "" {
		policy = chosen.Policy()
	}
	return policy, analyzer
}

// models keeps the models that were made, one for each profile and usage, as
// long as the profile does not change.
type models struct {
	profiles Profiles
	make     func(Profile, string) (llm.Model, error)

	mu   sync.Mutex
	made map[conversation.Choice]madeModel
}

type madeModel struct {
	revision string
	model    llm.Model
}

func newModels(p Profiles, f func(Profile, string) (llm.Model, error)) *models {
	return &models{profiles: p, make: f, made: make(map[conversation.Choice]madeModel)}
}

// Model is the model of a choice as its profile is now.
func (m *models) Model(ctx context.Context, c conversation.Choice) (llm.Model, error) {
	p, err := m.load(ctx, c.Profile)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.made[c]; ok && old.revision == p.Revision && p.Revision != "" {
		return old.model, nil
	}
	model, err := m.make(p, c.Usage)
	if err != nil {
		return nil, apierr.Of(ctx, err, agentapi.ErrRefused, fmt.Sprintf("The profile %q cannot be used: %s.", c.Profile, withHint(err)))
	}
	m.made[c] = madeModel{p.Revision, model}
	return model, nil
}

// withHint is an error with what to do about it.
func withHint(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Hint != "" {
		return err.Error() + "; " + f.Hint
	}
	return err.Error()
}

func (m *models) load(ctx context.Context, name string) (Profile, error) {
	p, err := m.profiles.Load(ctx, name)
	return p, apierr.Of(ctx, err, agentapi.ErrUnavailable, fmt.Sprintf("The profile %q cannot be read.", name))
}

// Switched is the choice of a profile, and the agent with its model.
func (m *models) Switched(ctx context.Context, stored json.RawMessage, profile string) (conversation.Choice, json.RawMessage, error) {
	p, err := m.load(ctx, profile)
	if err != nil {
		return conversation.Choice{}, nil, err
	}
	a := storedagent.Agent{}
	if err := json.Unmarshal(stored, &a); err != nil {
		return conversation.Choice{}, nil, apierr.Refused("The stored agent of this conversation cannot be read.", err)
	}
	choice := conversation.Choice{Profile: profile, Usage: "profile:" + profile}
	model, err := storedagent.LLM(p.Name, p.LLM, choice.Usage, true)
	if err != nil {
		return conversation.Choice{}, nil, err
	}
	a.Set("llm", model)
	data, err := json.Marshal(a)
	return choice, data, err
}
