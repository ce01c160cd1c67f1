// Package modelset finds the models that answer in a conversation: those of profiles, which
// all conversations share, and those of LLM objects that one conversation has for its own.
package modelset

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

// Profile is an LLM profile that can be called.
type Profile struct {
	Name     string
	Revision string
	// LLM is the profile's LLM object as OpenHands stores it, without any
	// secret.
	LLM json.RawMessage
	// Entry is the same for calls, with the headers and members that may hold credentials.
	// Nil: LLM says it all; see [Profile.Parsed].
	Entry *llm.Profile
	// Key finds a secret of the profile by the name of its field, such as
	// "api_key"; "" if there is none.
	Key func(ctx context.Context, field string) (string, error)
}

// Parsed is the LLM of the profile for calls.
func (p Profile) Parsed() (llm.Profile, error) {
	if p.Entry == nil {
		return llm.ParseProfile(p.LLM)
	}
	return *p.Entry, p.Entry.Check()
}

// Profiles is where LLM profiles come from: OpenHands' files.
type Profiles interface {
	// List gives the profiles in the order of their names. A Revision changes
	// whenever Load would give something else.
	List(ctx context.Context) ([]agentapi.Profile, error)
	// Load reads one profile, its key included. An unknown name is
	// agentapi.ErrProfileNotFound.
	Load(ctx context.Context, name string) (Profile, error)
}

// Shared keeps the models that were made, one for each profile and usage, as
// long as the profile does not change.
type Shared struct {
	profiles Profiles
	make     func(Profile, string) (llm.Model, error)

	mu   sync.Mutex
	made map[conversation.Choice]madeModel
}

type madeModel struct {
	revision string
	model    llm.Model
}

// New makes the models of profiles; make makes one of a profile for a usage.
func New(p Profiles, f func(Profile, string) (llm.Model, error)) *Shared {
	return &Shared{profiles: p, make: f, made: make(map[conversation.Choice]madeModel)}
}

// Model returns the model of a choice as its profile is now. It makes another one when the
// profile has changed.
func (m *Shared) Model(ctx context.Context, c conversation.Choice) (llm.Model, error) {
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

func (m *Shared) load(ctx context.Context, name string) (Profile, error) {
	p, err := m.profiles.Load(ctx, name)
	return p, apierr.Of(ctx, err, agentapi.ErrUnavailable, fmt.Sprintf("The profile %q cannot be read.", name))
}

// Switched returns the choice of a profile, and the agent with its model.
func (m *Shared) Switched(ctx context.Context, stored json.RawMessage, profile string) (conversation.Choice, json.RawMessage, error) {
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
