package token

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/ohgw/ohgw/internal/keyfile"
	"github.com/ohgw/ohgw/internal/secret"
)

// Place is where the value of the default token is kept.
type Place string

// The places.
const (
	InStore   Place = "store"    // in Config.Values
	InOldFile Place = "old-file" // in the file of older releases
)

// NotKeptError says that the default token was not made, because nothing would
// have kept its value and nobody would have seen it.
type NotKeptError struct{ Err error }

func (e *NotKeptError) Error() string { return "the default token was not created: " + e.Err.Error() }

func (e *NotKeptError) Unwrap() error { return e.Err }

// errNoStore: there is nothing that keeps values.
var errNoStore = errors.New("no key store")

// EnsureDefault makes the default token if there never was one: one that was
// revoked stays away. If there was one, what it returns has no name. A token
// whose value is not kept is made only if it is shown; else the error is a
// *NotKeptError, and the next call tries again.
func (s *Store) EnsureDefault(ctx context.Context, shown bool) (made Made, err error) {
	err = s.change(ctx, func(doc *document) error {
		if doc.hadDefault || doc.find(DefaultName) >= 0 {
			return errUnchanged
		}
		made = s.add(ctx, doc, Spec{Name: DefaultName})
		if made.NotKept != nil && !shown {
			return &NotKeptError{made.NotKept}
		}
		return nil
	})
	if err != nil {
		return Made{}, err
	}
	return made, nil
}

// Default is the value of the default token and where it is. ErrNotFound when
// the token was revoked or never made, ErrNoValue when only its hash is here,
// fs.ErrPermission when others could have read the file of an older release,
// else an error of Config.Values.
func (s *Store) Default(ctx context.Context) (secret.Value, Place, error) {
	want, place, err := s.whereDefault(ctx)
	if err != nil {
		return secret.Value{}, "", fmt.Errorf("default token: %w", err)
	}
	value, err := s.valueIn(ctx, place)
	if errors.Is(err, secret.ErrNotFound) || err == nil && sumOf(value.Reveal()) != want {
		err = ErrNoValue
	}
	if err != nil {
		return secret.Value{}, "", fmt.Errorf("default token: %w", err)
	}
	return value, place, nil
}

// WhereDefault reports where the value is, and asks no keyring: it goes by the
// names that are known. Its errors are those of Default.
func (s *Store) WhereDefault(ctx context.Context) (Place, error) {
	_, place, err := s.whereDefault(ctx)
	if err != nil {
		return "", fmt.Errorf("default token: %w", err)
	}
	return place, nil
}

// whereDefault returns the hash of the default token, too.
func (s *Store) whereDefault(ctx context.Context) (sum, Place, error) {
	doc, err := s.read()
	if err != nil {
		return sum{}, "", err
	}
	i := doc.find(DefaultName)
	if i < 0 {
		return sum{}, "", ErrNotFound
	}
	want := doc.entries[i].sum
	switch value, err := s.valueIn(ctx, InOldFile); {
	case err == nil && sumOf(value.Reveal()) == want:
		return want, InOldFile, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return sum{}, "", err
	}
	if s.values == nil {
		return sum{}, "", ErrNoValue
	}
	names, err := s.values.List(ctx)
	if err != nil {
		return sum{}, "", err
	}
	if !slices.Contains(names, s.entry()) {
		return sum{}, "", ErrNoValue
	}
	return want, InStore, nil
}

func (s *Store) valueIn(ctx context.Context, place Place) (secret.Value, error) {
	if place == InStore {
		return s.values.Get(ctx, s.entry())
	}
	text, err := keyfile.Read(s.path(oldFile))
	return secret.New(text), err
}

// entry is the name of the value in the key store.
func (s *Store) entry() string { return secret.TokenEntry(s.dir, DefaultName) }

// keep puts the value of the default token into the key store, and makes
// sure that it is there.
func (s *Store) keep(ctx context.Context, value secret.Value) error {
	if s.values == nil {
		return errNoStore
	}
	if err := s.values.Set(ctx, s.entry(), value); err != nil {
		return err
	}
	back, err := s.values.Get(ctx, s.entry())
	if err == nil && !back.Equal(value) {
		err = errors.New("the key store returned a different value")
	}
	return err
}

// Settle moves the value out of the file of an older release into the store of
// keys. It reports whether it did; when it cannot, the file stays, and its value
// is good.
func (s *Store) Settle(ctx context.Context) (moved bool, err error) {
	if _, err := os.Lstat(s.path(oldFile)); errors.Is(err, fs.ErrNotExist) {
		return false, nil // Almost always: no lock for that.
	}
	err = s.locked(ctx, func() error {
		value, place, err := s.Default(ctx)
		if err != nil && !errors.Is(err, ErrNoValue) && !errors.Is(err, ErrNotFound) {
			return err
		}
		if moved = place == InOldFile; moved {
			if err := s.keep(ctx, value); err != nil {
				moved = false
				return err
			}
		}
		return removeFile(s.path(oldFile)) // What it has opens nothing, or is kept.
	})
	return moved && err == nil, err
}

// Forget removes the value of a default token that was revoked, wherever it is.
func (s *Store) Forget(ctx context.Context) error {
	if err := removeFile(s.path(oldFile)); err != nil {
		return err
	}
	if s.values == nil {
		return nil
	}
	names, err := s.values.List(ctx)
	if err != nil || !slices.Contains(names, s.entry()) {
		return err
	}
	if err := s.values.Delete(ctx, s.entry()); err != nil && !errors.Is(err, secret.ErrNotFound) {
		return err
	}
	return nil
}
