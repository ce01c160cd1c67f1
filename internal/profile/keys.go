package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/llmentry"
	"github.com/ohgw/ohgw/internal/secret"
)

func secretFields() []string {
	return []string{llmentry.FieldAPIKey, secret.AWSAccessKeyID, secret.AWSSecretAccessKey, secret.AWSSessionToken}
}

// entryName is where the key of a member belongs in a key store.
func (s *Store) entryName(profile, member string) string {
	return secret.ProfileEntry(s.cfg.Base, profile, fieldOf(member))
}

// fieldOf is the field of a stored entry for a member of a profile.
func fieldOf(member string) string {
	if member == llmentry.FieldAPIKey {
		return secret.APIKey
	}
	return member
}

// secretAt is a secret in a file.
type secretAt struct {
	profile string            // whose it is
	in      document.Snapshot // the profile, or the settings
	entry   []string          // path of its entry in the file
	field   string            // member of the entry
}

func (a secretAt) path() []string { return append(slices.Clone(a.entry), a.field) }

func (a secretAt) member() jsonedit.Value { return a.in.Doc.Root().At(a.path()...) }

func inClearOrEncrypted(member jsonedit.Value) bool {
	state := keyState(member)
	return state == KeyPlain || state == KeyEncrypted
}

// errNotStored means that a store gave back something else than it was given.
var errNotStored = errors.New("the key store did not store the key")

// storeKey stores a key and makes sure that it is there.
func storeKey(ctx context.Context, keys secret.Store, entry string, key secret.Value, replace bool) (ImportAction, error) {
	old, err := keys.Get(ctx, entry)
	switch {
	case err == nil && old.Equal(key):
		return KeyThere, nil
	case err == nil && !replace:
		return KeyDiffers, nil
	case err != nil && !errors.Is(err, secret.ErrNotFound):
		return "", err
	}
	if err := keys.Set(ctx, entry, key); err != nil {
		return "", err
	}
	if back, err := keys.Get(ctx, entry); err != nil || !back.Equal(key) {
		return "", errors.Join(errNotStored, err)
	}
	return KeyCopied, nil
}

// MoveKeys moves the keys that are stored for a profile to its new name, after
// a Rename. The old entries go last, so that a key is never lost. A key that is stored for
// the new name already was for another profile, and is not for this one.
func (s *Store) MoveKeys(ctx context.Context, keys secret.Store, old, name string) error {
	if hosts, ok := keys.(secret.HostStore); ok {
		_, err := s.eachKey(ctx, keys, name, func(entry, _ string) error {
			if host, err := hosts.Host(entry); host != "" || err != nil {
				return err
			}
			return hosts.SetHost(ctx, entry, otherProfile)
		})
		if err != nil {
			return err
		}
	}
	_, err := s.eachKey(ctx, keys, old, func(entry, field string) error {
		key, err := keys.Get(ctx, entry)
		if errors.Is(err, secret.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := storeKey(ctx, keys, s.entryName(name, field), key, true); err != nil {
			return err
		}
		if err := moveHost(ctx, keys, entry, s.entryName(name, field)); err != nil {
			return err
		}
		return keys.Delete(ctx, entry)
	})
	return err
}

// otherProfile takes the place of a host that is not known.
const otherProfile = "another profile of that name"

// moveHost lets a key be for the host that it was for under its old name.
func moveHost(ctx context.Context, keys secret.Store, old, name string) error {
	hosts, ok := keys.(secret.HostStore)
	if !ok {
		return nil
	}
	host, err := hosts.Host(old)
	if err != nil {
		return err
	}
	return hosts.SetHost(ctx, name, host)
}

// RemoveKeys removes the keys that are stored for a profile, after a Remove. It
// reports how many there were.
func (s *Store) RemoveKeys(ctx context.Context, keys secret.Store, name string) (int, error) {
	return s.eachKey(ctx, keys, name, func(entry, _ string) error { return keys.Delete(ctx, entry) })
}

// eachKey calls do for the keys that are stored for a profile, and counts them.
// It asks for their names first: a keyring is only asked for what it has.
func (s *Store) eachKey(ctx context.Context, keys secret.Store, profile string, do func(entry, field string) error) (int, error) {
	names, err := keys.List(ctx)
	if err != nil {
		return 0, fmt.Errorf("keys of profile %q: %w", profile, err)
	}
	n := 0
	for _, field := range secretFields() {
		entry := s.entryName(profile, field)
		if !slices.Contains(names, entry) {
			continue
		}
		if err := do(entry, field); err != nil && !errors.Is(err, secret.ErrNotFound) {
			return n, fmt.Errorf("keys of profile %q: %w", profile, err)
		}
		n++
	}
	return n, nil
}
