package token

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/keyfile"
	"github.com/ohgw/ohgw/internal/secret"
)

// Place is where the value of the default token is kept.
type Place string

// The places.
const (
	InStore Place = "store" // in Config.Values
	InFile  Place = "file"  // in a private file of the state directory
)

// errNoStore: there is nothing that keeps values.
var errNoStore = errors.New("no key store")

// EnsureDefault makes the default token if there never was one: one that was
// revoked stays away. If there was one, what it returns has no name.
func (s *Store) EnsureDefault(ctx context.Context) (made Made, err error) {
	err = s.change(ctx, func(doc *document) (err error) {
		if doc.hadDefault || doc.find(DefaultName) >= 0 {
			return errUnchanged
		}
		made, err = s.add(ctx, doc, Spec{Name: DefaultName})
		return err
	})
	if err != nil {
		return Made{}, err
	}
	return made, nil
}

// Default is the value of the default token and where it is. ErrNotFound when
// the token was revoked or never made, ErrNoValue when only its hash is here,
// a *keyfile.UnsafeError when the file is not private, else an error of
// Config.Values.
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
	switch value, err := s.valueIn(ctx, InFile); {
	case err == nil && sumOf(value.Reveal()) == want:
		return want, InFile, nil
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
	text, err := keyfile.ReadOwn(s.path(valueFile))
	return secret.New(text), err
}

// entry is the name of the value in the key store.
func (s *Store) entry() string { return secret.TokenEntry(s.dir, DefaultName) }

// keep keeps the value of the default token: in the key store, and where that
// does not take it, in a private file. whyFile is why it is in the file; nil if
// it is not. An err means that nothing keeps the value.
func (s *Store) keep(ctx context.Context, value secret.Value) (whyFile, err error) {
	whyFile = s.intoStore(ctx, value)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case whyFile == nil:
		return nil, atomicfile.Remove(s.path(valueFile)) // What is there opens nothing.
	}
	return whyFile, atomicfile.Write(s.path(valueFile), []byte(value.Reveal()+"\n"), atomicfile.Options{MaxMode: 0o600})
}

// intoStore puts the value of the default token into the key store, and makes
// sure that it is there.
func (s *Store) intoStore(ctx context.Context, value secret.Value) error {
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

// Forget removes the value of a default token that was revoked, wherever it is.
func (s *Store) Forget(ctx context.Context) error {
	if err := atomicfile.Remove(s.path(valueFile)); err != nil {
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
