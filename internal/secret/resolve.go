package secret

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// OriginKind is where a key comes from.
type OriginKind string

// The origins, in the order in which they are asked.
const (
	FromProfileEntry  OriginKind = "profile-entry"  // stored for this profile
	FromProviderEntry OriginKind = "provider-entry" // stored for all profiles of its provider
	FromProfile       OriginKind = "profile"        // in the file of the profile
	FromConnection    OriginKind = "connection"     // in the provider connection of the profile
	FromEnvironment   OriginKind = "environment"    // in a variable that LiteLLM reads
	FromNowhere       OriginKind = "none"
)

// Origin is where a key comes from, or was looked for.
type Origin struct {
	Kind OriginKind `json:"kind"`
	Name string     `json:"name,omitempty"` // of the entry or of the variable
}

// String names the origin for people.
func (o Origin) String() string {
	switch o.Kind {
	case FromProfileEntry:
		return "key stored for the profile"
	case FromProviderEntry:
		return "key stored for " + ParseEntry(o.Name).Provider
	case FromProfile:
		return "profile file"
	case FromConnection:
		return "provider connection " + o.Name
	case FromEnvironment:
		return "environment variable " + o.Name
	}
	return "no key"
}

// Subject is what a key is looked for: a profile, as far as it matters here.
type Subject struct {
	Base    string // base directory of the store that the profile is in
	Profile string // its name
	Model   string // its model, which tells the provider
	Field   string // APIKey or one of the secrets of AWS

	// BaseURL is that of the profile, or "". A key that is for a provider is
	// not sent to the host of another one; see Resolver.
	BaseURL string

	// Endpoint is where requests go in the place of BaseURL, in profiles that have a
	// field of their own for it; "" for all others.
	Endpoint string

	// Own reads the key in the file of the profile or in its connection; nil
	// when there is none.
	Own func() (Value, error)

	// OwnOrigin is where Own reads.
	OwnOrigin Origin
}

// Resolution is the key of a Subject and where it was found. Without a key the
// kind of the Origin is FromNowhere.
type Resolution struct {
	Key    Value
	Origin Origin

	// Skipped are the places that might have a key but could not be asked.
	Skipped []Skipped
}

// Skipped is a place that could not be asked for a key.
type Skipped struct {
	Origin Origin
	Err    error
}

// NoKeyError says that nothing has a key for a profile.
type NoKeyError struct {
	Profile string
	Skipped []Skipped
}

func (e *NoKeyError) Error() string {
	msg := fmt.Sprintf("no key for profile %q", e.Profile)
	for _, s := range e.Skipped {
		msg += fmt.Sprintf("; %s: %v", s.Origin, s.Err)
	}
	return msg
}

// Unwrap returns the errors of the places that could not be asked.
func (e *NoKeyError) Unwrap() []error {
	errs := make([]error, len(e.Skipped))
	for i, s := range e.Skipped {
		errs[i] = s.Err
	}
	return errs
}

// Resolver finds the key of a profile. The first place that has one wins: the
// entry of the profile, the entry of its provider, the profile itself, the
// environment.
//
// A profile chooses the host that its key is sent to, and another person may have
// written it. So the key of a provider, stored or in the environment, goes to hosts of
// that provider only, and the key that is stored for a profile to the host that the
// profile had then; see HostOf. The environment's goes, besides, to this machine, and
// to a base URL that is in the environment too: the user who set both meant them for
// each other.
type Resolver struct {
	keys      Store // may be nil
	env       *Env
	providers []Provider
}

// NewResolver looks into keys, which may be nil when there is no store, and
// into the environment by lookup.
func NewResolver(keys Store, providers []Provider, lookup func(string) (string, bool)) *Resolver {
	return &Resolver{keys: keys, env: NewEnv(providers, lookup), providers: providers}
}

// Resolve finds the key. A place that cannot be asked, such as a locked
// keyring, does not stop the search; if nothing is found, the *NoKeyError names
// it. Resolve ends with ctx.
func (r *Resolver) Resolve(ctx context.Context, s Subject) (Resolution, error) {
	var out Resolution
	for _, place := range r.places(s) {
		key, err := place.get(ctx)
		switch {
		case ctx.Err() != nil:
			return Resolution{}, ctx.Err()
		case err == nil && !key.IsZero():
			out.Key, out.Origin = key, place.origin
			return out, nil
		case err != nil && !errors.Is(err, ErrNotFound):
			out.Skipped = append(out.Skipped, Skipped{place.origin, err})
		}
	}
	out.Origin = Origin{Kind: FromNowhere}
	return out, &NoKeyError{Profile: s.Profile, Skipped: out.Skipped}
}

// place is one of the places where a key can be.
type place struct {
	origin Origin
	get    func(context.Context) (Value, error)
}

func (r *Resolver) places(s Subject) []place {
	var places []place
	if r.keys != nil {
		for _, origin := range r.entries(s) {
			places = append(places, place{origin, func(ctx context.Context) (Value, error) { return r.get(ctx, s, origin) }})
		}
	}
	if s.Own != nil {
		places = append(places, place{s.OwnOrigin, func(context.Context) (Value, error) { return s.Own() }})
	}
	if origin := r.environment(s); origin.Name != "" {
		places = append(places, place{origin, func(ctx context.Context) (Value, error) {
			return r.env.Get(ctx, ProviderEntry(ProviderOf(s.Model), s.Field))
		}})
	}
	return places
}

// environment is the variable that has the key; the zero Origin if there is
// none, or if it is for another host.
func (r *Resolver) environment(s Subject) Origin {
	base, given := r.base(s)
	if p := r.provider(s.Model); given && !p.ownHost(base) && !here(base) {
		return Origin{}
	}
	if variable := r.env.Variable(ProviderEntry(ProviderOf(s.Model), s.Field)); variable != "" {
		return Origin{FromEnvironment, variable}
	}
	return Origin{}
}

// base is where the key goes, "" for the provider itself, and whether the
// profile says so.
func (r *Resolver) base(s Subject) (url string, given bool) {
	if url = strings.TrimSpace(s.Endpoint); url != "" {
		return url, true
	}
	if url = strings.TrimSpace(s.BaseURL); url != "" {
		return url, true
	}
	for _, variable := range r.provider(s.Model).Bases {
		if text, _ := r.env.lookup(variable); strings.TrimSpace(text) != "" {
			return strings.TrimSpace(text), false
		}
	}
	return "", false
}

// Entries returns the names in the store that can have the key, the first one
// first. A key is not among them if it would go to a host that it is not for.
func (r *Resolver) Entries(s Subject) []Origin {
	entries := r.entries(s)
	if r.bound(s) != nil {
		return entries[1:]
	}
	return entries
}

// entries are Entries with that of the profile, whatever its host.
func (r *Resolver) entries(s Subject) []Origin {
	entries := []Origin{{FromProfileEntry, ProfileEntry(s.Base, s.Profile, s.Field)}}
	base, _ := r.base(s)
	if p := r.provider(s.Model); p.ownHost(base) {
		entries = append(entries, Origin{FromProviderEntry, ProviderEntry(p.Prefix, s.Field)})
	}
	return entries
}

// provider is the provider of a model; one that nothing is known about has a
// prefix only.
func (r *Resolver) provider(model string) Provider {
	prefix := ProviderOf(model)
	for _, p := range r.providers {
		if p.Prefix == prefix {
			return p
		}
	}
	return Provider{Prefix: prefix}
}

// Keyless reports whether a model works without a key: its provider asks for
// none, or its server is on this machine.
func (r *Resolver) Keyless(s Subject) bool {
	base, _ := r.base(s)
	return r.provider(s.Model).Keyless || base != "" && here(base)
}

// Variables are the environment variables that can hold the key of a model.
func (r *Resolver) Variables(model string) []string {
	return r.env.Variables(ProviderEntry(ProviderOf(model), APIKey))
}

// Names returns the names in the store, for Locate. It is nil, with the error,
// when the store cannot tell them.
func (r *Resolver) Names(ctx context.Context) ([]string, error) {
	if r.keys == nil {
		return nil, nil
	}
	return r.keys.List(ctx)
}

// Locate reports where Resolve would find the key, without reading any: names is
// what Names gave, in order. It is for lists of many profiles.
func (r *Resolver) Locate(s Subject, names []string) Origin {
	for _, origin := range r.Entries(s) {
		if _, found := slices.BinarySearchFunc(names, origin.Name, strings.Compare); found {
			return origin
		}
	}
	if s.Own != nil {
		return s.OwnOrigin
	}
	if origin := r.environment(s); origin.Name != "" && r.variableError(s) == nil {
		return origin
	}
	return Origin{Kind: FromNowhere}
}

// Withheld reports which key there is for the provider of a profile that Resolve
// does not return, because it would go to a host that the key is not for. names
// is as for Locate. Without one, the kind of the Origin is FromNowhere.
func (r *Resolver) Withheld(s Subject, names []string) Origin {
	elsewhere := s
	elsewhere.BaseURL, elsewhere.Own = "", nil
	entry := ProviderEntry(r.provider(s.Model).Prefix, s.Field)
	_, stored := slices.BinarySearchFunc(names, entry, strings.Compare)
	offered := slices.ContainsFunc(r.Entries(s), func(o Origin) bool { return o.Name == entry })
	switch {
	case stored && !offered:
		return Origin{FromProviderEntry, entry}
	case r.environment(s).Name == "" && r.environment(elsewhere).Name != "":
		return r.environment(elsewhere)
	}
	return Origin{Kind: FromNowhere}
}
