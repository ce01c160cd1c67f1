package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/demo"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup/agentmodels"
)

// engineProfiles gives the engine OpenHands' profiles, and the demo.
type engineProfiles struct {
	store  *profile.Store
	keys   *secret.Resolver
	state  string // the state directory
	demo   bool
	agents *agentmodels.Roster
	alone  error // why there is only the demo; nil: there is not

	mu     sync.Mutex
	loaded map[string]engine.Profile // by name, as of their Revision
}

// revision changes when a profile does, or a stored key.
func (e *engineProfiles) revision() (string, error) {
	stamp, err := e.store.Stamp()
	return fmt.Sprint(stamp) + keyStamp(e.state), err
}

// List returns the profiles that OpenHands would load.
func (e *engineProfiles) List(ctx context.Context) ([]agentapi.Profile, error) {
	summaries, err := e.store.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	revision, err := e.revision()
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	list := make([]agentapi.Profile, 0, len(summaries)+1)
	for _, s := range summaries {
		if s.Usable() {
			list = append(list, agentapi.Profile{
				Name: s.Name, Model: s.Model, BaseURL: s.BaseURL, Active: s.Active, Modified: s.ModTime, Revision: revision,
			})
		}
	}
	if e.demo {
		demonstration := agentapi.Profile{Name: demo.Name, Model: demo.Name, Active: !slices.ContainsFunc(list, func(p agentapi.Profile) bool { return p.Active })}
		at, _ := slices.BinarySearchFunc(list, demo.Name, func(p agentapi.Profile, name string) int {
			return compareNames(p.Name, name)
		})
		list = slices.Insert(list, at, demonstration)
	}
	return list, nil
}

func compareNames(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Load reads a profile. Its keys are found when a model asks for them.
func (e *engineProfiles) Load(ctx context.Context, name string) (engine.Profile, error) {
	if e.demo && name == demo.Name {
		return engine.Profile{Name: name, LLM: json.RawMessage(`{"model":"` + demo.Name + `"}`), Key: noKey}, nil
	}
	if e.alone != nil {
		return engine.Profile{}, e.alone
	}
	revision, err := e.revision()
	if err != nil {
		return engine.Profile{}, fmt.Errorf("load profile: %w", err)
	}
	e.mu.Lock()
	known, ok := e.loaded[name]
	e.mu.Unlock()
	if ok && known.Revision == revision {
		return known, nil
	}
	p, err := e.store.Load(name)
	if errors.Is(err, profile.ErrNotFound) || errors.Is(err, profile.ErrName) {
		return engine.Profile{}, &agentapi.Error{Kind: agentapi.ErrProfileNotFound, Msg: fmt.Sprintf("There is no LLM profile %q.", name)}
	}
	if err != nil {
		return engine.Profile{}, &agentapi.Error{
			Kind: agentapi.ErrRefused, Err: err,
			Msg: fmt.Sprintf("The LLM profile %q cannot be used; run ohgw profiles check %s.", name, name),
		}
	}
	stored, err := json.Marshal(p.LLM)
	if err != nil {
		return engine.Profile{}, fmt.Errorf("encode profile: %w", err)
	}
	key := func(ctx context.Context, field string) (string, error) {
		if field == llm.FieldAPIKey {
			field = secret.APIKey
		}
		found, err := e.keys.Resolve(ctx, p.Subject(field))
		if missing, none := errors.AsType[*secret.NoKeyError](err); none {
			if err := e.keys.Unusable(p.Subject(field), err); err != nil {
				return "", err
			}
			return "", noKeyOf(missing)
		}
		return found.Key.Reveal(), err
	}
	known = engine.Profile{Name: name, Revision: revision, LLM: stored, Entry: &p.LLM, Key: key}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.loaded == nil {
		e.loaded = make(map[string]engine.Profile)
	}
	e.loaded[name] = known
	return known, nil
}

// noKeyOf says why there is no key, where a place could not be asked for it.
func noKeyOf(missing *secret.NoKeyError) *llm.NoKeyError {
	if len(missing.Skipped) == 0 {
		return &llm.NoKeyError{}
	}
	skipped := missing.Skipped[0]
	e := &llm.NoKeyError{Why: fmt.Sprintf("the %s cannot be read (%v)", skipped.Origin, skipped.Err), Repair: "See why: ohgw keys status"}
	switch gone, keyring := errors.AsType[*secret.UnavailableError](skipped.Err); {
	case skipped.Origin.Kind == secret.FromProfile, skipped.Origin.Kind == secret.FromConnection:
		e.Repair = "Store it again: ohgw keys set " + missing.Profile
	case keyring && gone.Reason == secret.NoAnswer:
		e.Why = fmt.Sprintf("the %s cannot be read (%v)", skipped.Origin, gone)
		e.Repair = "Unlock the keyring and send the message again"
	case keyring:
		e.Why = "none is stored for the profile " + missing.Profile + " (" + gone.Error() + ")"
		e.Repair = "Store one in a private file: ohgw keys set " + missing.Profile + " --key-store file"
	}
	return e
}

func noKey(context.Context, string) (string, error) { return "", nil }

// newModel makes the models of the engine.
func (e *engineProfiles) newModel(base llm.Config) func(engine.Profile, string) (llm.Model, error) {
	return func(p engine.Profile, usage string) (llm.Model, error) {
		cfg := base
		cfg.UsageID = usage
		if p.Name == demo.Name && e.demo {
			return demo.New(demo.Config{UsageID: usage, Now: cfg.Now}), nil
		}
		return e.model(p, cfg)
	}
}

// model makes the model of a profile.
func (e *engineProfiles) model(p engine.Profile, cfg llm.Config) (llm.Model, error) {
	own, err := configure(p, cfg)
	if err != nil {
		return nil, err
	}
	own.Fallback = e.fallback(cfg)
	return llm.New(own)
}

// configure adds a profile to the configuration of a model.
func configure(p engine.Profile, cfg llm.Config) (llm.Config, error) {
	parsed, err := p.Parsed()
	if err != nil {
		return llm.Config{}, err
	}
	cfg.Profile, cfg.Name, cfg.Key = parsed, p.Name, p.Key
	return cfg, nil
}

// fallback finds the profiles that answer when another's provider cannot.
func (e *engineProfiles) fallback(cfg llm.Config) func(string) (llm.Config, error) {
	return func(name string) (llm.Config, error) {
		p, err := e.Load(context.Background(), name)
		if err != nil {
			return llm.Config{}, err
		}
		return configure(p, cfg)
	}
}

// llm configures the LLM of a profile for a call without an agent.
func (e *engineProfiles) llm(ctx context.Context, name string, cfg llm.Config) (llm.Config, error) {
	if e.demo && name == demo.Name {
		return cfg, &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "The demo is a scripted model that only works with an agent."}
	}
	p, err := e.Load(ctx, name)
	if agent, ok := agentapi.AgentOf(name); ok && errors.Is(err, agentapi.ErrProfileNotFound) {
		if name, err = e.agents.LLM(ctx, agent); err == nil {
			p, err = e.Load(ctx, name)
		}
	}
	if err != nil {
		return cfg, err
	}
	return configure(p, cfg)
}
