package setup

import (
	"context"
	"fmt"

	"github.com/ohgw/ohgw/internal/secret"
)

// DescribeEntry says what a stored key is for.
func DescribeEntry(e secret.Entry) string {
	what := e.Name
	switch {
	case e.Profile != "":
		what = fmt.Sprintf("profile %q", e.Profile)
	case e.Provider != "":
		what = "provider " + e.Provider
	}
	if e.Field != secret.APIKey {
		what += " (" + e.Field + ")"
	}
	return what
}

// KeyFinder finds the keys of profiles, without reading any.
type KeyFinder struct {
	*secret.Resolver

	Names []string // of what is stored
}

// FindKeys looks into a store, into profiles and into the environment.
func (env *Env) FindKeys(ctx context.Context, store *KeyStore) KeyFinder {
	r := secret.NewResolver(store, secret.Providers(), env.Lookup)
	names, err := r.Names(ctx)
	if err != nil {
		env.Note("warning: cannot list the stored keys: %s", Clean(err.Error()))
	}
	return KeyFinder{r, names}
}

// From reports where a key comes from.
func (f KeyFinder) From(s secret.Subject) secret.Origin { return f.Locate(s, f.Names) }

// ProviderMark begins the name of a key for a provider. No name of a profile
// has a colon.
const ProviderMark = "provider:"

// KeyFields returns the names of the secrets that an entry may have beside its
// API key.
func KeyFields() []string {
	return []string{secret.AWSAccessKeyID, secret.AWSSecretAccessKey, secret.AWSSessionToken}
}

// ProviderPrefixes returns the names of all known providers, as in model names.
func ProviderPrefixes() []string {
	var names []string
	for _, p := range secret.Providers() {
		names = append(names, p.Prefix)
	}
	return names
}

// FieldName returns the name of a secret field as people read it.
func FieldName(field string) string {
	if field == secret.APIKey {
		return "api_key"
	}
	return field
}
