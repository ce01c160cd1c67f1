package setup

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
)

// WarnCleartext says that a key is about to be written as it is.
func (env *Env) WarnCleartext(s *KeyStore) {
	if s.cleartext {
		env.Note("warning: %s holds keys in cleartext, readable only by you; set OH_SECRET_KEY to encrypt them", s.Path)
	}
}

// RememberStore makes the choice of a store by a flag hold from now on: a key in a
// store that is not configured would not be found.
func (env *Env) RememberStore(s *KeyStore) {
	if s.Origin.Kind != config.FromFlag {
		return
	}
	if configured, err := env.Settings(nil); err == nil && configured.KeyStore == s.kind {
		return
	}
	line := config.Line(config.KeyStoreKey, s.kind)
	if err := config.Remember(s.Settings.File, config.KeyStoreKey, s.kind); err != nil {
		env.Note("ohgw does not use this key store until %s has this line above all tables:\n  %s", s.Settings.File, line)
		env.Detail("it was not added: %v", err)
		return
	}
	env.Note("ohgw will use this key store from now on: %s has the line %s", s.Settings.File, line)
}

// The outcomes of storing a key.
const (
	keyStored   = "stored"
	keyReplaced = "replaced"
	KeyAlready  = "already"
)

// KeepKey stores a key and makes sure that it is there.
func (env *Env) KeepKey(ctx context.Context, store *KeyStore, entry secret.Entry, key secret.Value, replace bool) (action string, err error) {
	old, err := store.Get(ctx, entry.Name)
	switch {
	case err == nil && old.Equal(key):
		env.RememberStore(store)
		return KeyAlready, KeyFault(ctx, env.bind(ctx, store, entry), store)
	case err == nil && !replace:
		return "", &fault.Error{
			Msg:  "a different key is already stored for " + DescribeEntry(entry),
			Hint: "replace it with --replace", Code: fault.Conflict,
		}
	case err == nil:
		action = keyReplaced
	case errors.Is(err, secret.ErrNotFound), replace:
		action = keyStored // Replacing also repairs what cannot be read.
	default:
		return "", KeyFault(ctx, err, store)
	}
	env.WarnCleartext(store)
	if err := store.Set(ctx, entry.Name, key); err != nil {
		return "", KeyFault(ctx, err, store)
	}
	if back, err := store.Get(ctx, entry.Name); err != nil || !back.Equal(key) {
		return "", KeyFault(ctx, errors.Join(errors.New("the key store returned a different key"), err), store)
	}
	if err := env.bind(ctx, store, entry); err != nil {
		return "", KeyFault(ctx, err, store)
	}
	env.RememberStore(store)
	return action, nil
}

// bind stores that a key is for the host that its profile has now. A profile that is
// not there, or cannot be read, gets the key with its first use.
func (env *Env) bind(ctx context.Context, store *KeyStore, entry secret.Entry) error {
	if entry.Profile == "" {
		return nil
	}
	profiles, err := env.ProfileStore(0)
	if err != nil {
		return err
	}
	p, err := profiles.Load(entry.Profile)
	if err != nil {
		return nil //nolint:nilerr // what the profile lacks is not about the key
	}
	return secret.NewResolver(store, secret.Providers(), env.Lookup).Bind(ctx, p.Subject(entry.Field))
}
