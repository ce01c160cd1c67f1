// Package firstrun is the setup of the first LLM without its questions: what is
// on this machine, which providers and models there are, whether a choice is
// valid and works, and how it is stored.
//
// It neither asks nor prints; cli/guide does. It sends requests to this machine,
// and to the provider that was chosen.
package firstrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/modelcheck"
)

// Plan is a profile in the making: what is chosen so far.
type Plan struct {
	Name     string // of the profile
	Provider string // the prefix of the model's name; "" if Model has it
	Model    string
	BaseURL  string       // "" for the provider's own
	Key      secret.Value // given for this profile; zero: none, or one that is found elsewhere
	Stored   bool         // a profile of that name is there and is replaced: its stored key stays

	// From is what the profile is made of if the other fields only describe it.
	From *profile.Draft
}

// FullModel is the model as profiles name it: with its provider.
func (p Plan) FullModel() string {
	if p.Provider == "" {
		return p.Model
	}
	return p.Provider + "/" + strings.TrimPrefix(p.Model, p.Provider+"/")
}

// Draft is the profile that the plan describes.
func (p Plan) Draft() profile.Draft {
	if p.From != nil {
		return *p.From
	}
	d := profile.NewDraft(p.FullModel(), p.BaseURL)
	if !p.Key.IsZero() {
		d.Keys[secret.APIKey] = p.Key
	}
	return d
}

// Setup checks plans and stores them.
type Setup struct {
	env      *setup.Env
	profiles *profile.Store
	keys     *setup.KeyStore
	resolver *secret.Resolver
	check    *modelcheck.Check
}

// New makes a Setup that stores profiles and their keys there. Each request to a
// provider may take timeout.
func New(env *setup.Env, profiles *profile.Store, keys *setup.KeyStore, timeout time.Duration) *Setup {
	resolver := secret.NewResolver(keys, secret.Providers(), env.Lookup)
	return &Setup{env, profiles, keys, resolver, modelcheck.New(env, profiles, resolver, timeout)}
}

// KeyStore is where the keys are stored.
func (s *Setup) KeyStore() *setup.KeyStore { return s.keys }

// WithKeyStore is a Setup that stores keys elsewhere.
func (s *Setup) WithKeyStore(keys *setup.KeyStore, timeout time.Duration) *Setup {
	return New(s.env, s.profiles, keys, timeout)
}

// anyModel stands for the model of a plan that has none yet.
const anyModel = "any"

// preview is the profile of a plan. A model that is not chosen yet is any.
func (s *Setup) preview(p Plan) (*profile.Profile, error) {
	p.Name, p.Model = cmp.Or(p.Name, "new"), cmp.Or(p.Model, anyModel)
	return s.profiles.Preview(p.Name, p.Draft())
}

// KeyOrigin reports where the key of a plan comes from if none is given: from
// what is stored for its provider, or from a variable. The kind is FromNowhere
// if there is none.
func (s *Setup) KeyOrigin(ctx context.Context, p Plan) secret.Origin {
	p.Key = secret.Value{}
	made, err := s.preview(p)
	if err != nil {
		return secret.Origin{Kind: secret.FromNowhere}
	}
	names, err := s.resolver.Names(ctx)
	if err != nil {
		names = nil // A store that cannot be asked has no key for anybody.
	}
	if own := secret.ProfileEntry(made.Base, made.Name, secret.APIKey); !p.Stored {
		names = slices.DeleteFunc(names, func(name string) bool { return name == own })
	}
	return s.resolver.Locate(made.Subject(secret.APIKey), names)
}

// Elsewhere explains why the key that is stored for the name of a profile is not for the
// host that the profile is to have; nil if it is, or if none is stored, or another key is
// found.
func (s *Setup) Elsewhere(ctx context.Context, made *profile.Profile) error {
	names, err := s.resolver.Names(ctx)
	if err != nil {
		return nil //nolint:nilerr // a store that cannot be asked has no key for anybody
	}
	if err := s.bindOld(ctx, made.Name, names); err != nil {
		return err
	}
	elsewhere, ok := errors.AsType[*secret.HostError](s.resolver.Refused(made.Subject(secret.APIKey), names))
	if !ok || s.resolver.Unusable(made.Subject(secret.APIKey), elsewhere) == nil || s.resolver.Locate(made.Subject(secret.APIKey), names).Kind != secret.FromNowhere {
		return nil
	}
	return &fault.Error{
		Msg: "the profile was not added: " + elsewhere.Reason(), Code: fault.Credential,
		Hint: "give its key with --key-from, or remove the stored one: ohgw keys remove " + elsewhere.Profile + " --yes",
	}
}

// bindOld binds the keys of a profile that an older ohgw has stored to the host that the
// profile has before it is replaced.
func (s *Setup) bindOld(ctx context.Context, name string, names []string) error {
	old, err := s.profiles.Load(name)
	if err != nil {
		return nil //nolint:nilerr // there is none, or it has no host
	}
	for _, field := range append([]string{secret.APIKey}, setup.KeyFields()...) {
		if err := s.resolver.BindOld(ctx, old.Subject(field), names); err != nil {
			return setup.KeyFault(ctx, err, s.keys)
		}
	}
	return nil
}

// PlanElsewhere does the same as Elsewhere for a plan without a key.
func (s *Setup) PlanElsewhere(ctx context.Context, p Plan) error {
	made, err := s.preview(p)
	if err != nil || !p.Key.IsZero() {
		return nil //nolint:nilerr // what is wrong with the plan is said where it is stored
	}
	return s.Elsewhere(ctx, made)
}

// Models asks the provider of a plan for its models, by the names that come
// behind the provider's prefix. Without a list there are no models and no error.
func (s *Setup) Models(ctx context.Context, p Plan, loads func()) ([]string, error) {
	p.Model = ""
	made, err := s.preview(p)
	if err != nil {
		return nil, err
	}
	models, err := s.check.Models(ctx, made, p.Key, loads)
	if errors.Is(err, modelcheck.ErrNoList) {
		return nil, nil
	}
	return models, err
}

// Patience is how long Try waits for an answer.
func (s *Setup) Patience(p Plan) time.Duration {
	made, err := s.preview(p)
	if err != nil {
		return 0
	}
	return s.check.Patience(made)
}

// Try sends the model of a plan one short question. loads is called once if its server
// has to load the model first.
func (s *Setup) Try(ctx context.Context, p Plan, loads func()) (modelcheck.Result, error) {
	made, err := s.preview(p)
	if err != nil {
		return modelcheck.Result{}, err
	}
	return s.check.Try(ctx, made, p.Key, func(phase event.Phase) {
		if phase.Name == event.PhaseLoading && loads != nil {
			loads()
		}
	}), nil
}

// FromSettings makes the plan of a profile with the LLM of OpenHands' settings; false if
// there is none.
func (s *Setup) FromSettings() (Plan, bool) {
	draft, err := s.profiles.SettingsDraft()
	if err != nil {
		return Plan{}, false
	}
	made, err := s.profiles.Preview("new", draft)
	if err != nil {
		return Plan{}, false
	}
	plan := Plan{Model: made.LLM.Model, Key: draft.Keys[secret.APIKey], From: &draft}
	if prefix, rest, found := strings.Cut(plan.Model, "/"); found {
		plan.Provider, plan.Model = prefix, rest
	}
	if made.LLM.BaseURL != nil {
		plan.BaseURL = *made.LLM.BaseURL
	}
	return plan, true
}

// SaveOptions say how a profile is stored.
type SaveOptions struct {
	Replace bool // there may be a profile or a key of that name
	Use     bool // make it the active profile, whatever is active
}

// Saved is what Save did.
type Saved struct {
	Added  bool        // there is a profile now
	Keys   []StoredKey // in the order of their fields
	Active bool        // it is the active profile now
}

// StoredKey is a key that Save has stored.
type StoredKey struct {
	Entry  secret.Entry
	Key    secret.Value
	Action string // of [setup.Env.KeepKey]
}

// Save writes a profile, stores its keys, and makes the profile the active one
// if there is no other profile and OpenHands' settings have no LLM. If the
// active profile is replaced, it stays the active one. What was done before an
// error is in Saved.
func (s *Setup) Save(ctx context.Context, name string, d profile.Draft, opts SaveOptions) (done Saved, err error) {
	first := s.isFirst()
	if names, err := s.resolver.Names(ctx); err == nil {
		if err := s.bindOld(ctx, name, names); err != nil {
			return done, err
		}
	}
	if err := s.profiles.Add(ctx, name, d, profile.AddOptions{Replace: opts.Replace}); err != nil {
		return done, err
	}
	done.Added = true
	for _, field := range slices.Sorted(maps.Keys(d.Keys)) {
		entry := secret.ParseEntry(secret.ProfileEntry(s.profiles.Base(), name, field))
		action, err := s.env.KeepKey(ctx, s.keys, entry, d.Keys[field], opts.Replace)
		if err != nil {
			return done, fmt.Errorf("store the key: %w", err)
		}
		done.Keys = append(done.Keys, StoredKey{entry, d.Keys[field], action})
	}
	if active, _ := s.profiles.Active(); !first && !opts.Use && active != name {
		return done, nil
	}
	if _, err := s.profiles.Use(ctx, name, s.env.Now()); err != nil {
		return done, fmt.Errorf("activate the profile: %w", err)
	}
	done.Active = true
	return done, nil
}

// isFirst reports whether a new profile is the first LLM that OpenHands has:
// making it the active one replaces nothing.
func (s *Setup) isFirst() bool {
	names, err := s.profiles.Names()
	if err != nil || len(names) > 0 {
		return false
	}
	_, err = s.profiles.SettingsDraft()
	return errors.Is(err, profile.ErrNotFound)
}

// FreeName is a name for a new profile: base, or with a number behind it.
func (s *Setup) FreeName(base string) string {
	names, err := s.profiles.Names()
	if err != nil {
		return base
	}
	name := base
	for n := 2; slices.Contains(names, name); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}
