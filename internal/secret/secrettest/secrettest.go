// Package secrettest has a secret.Store for tests: it keeps keys in memory and
// fails when it is told to.
package secrettest

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/ohgw/ohgw/internal/secret"
)

// Store keeps secrets in memory. The zero Store is empty and ready for use.
type Store struct {
	mu   sync.Mutex
	keys map[string]secret.Value
	err  error
}

// New makes a Store with these keys, by the names of their entries.
func New(keys map[string]string) *Store {
	s := &Store{keys: map[string]secret.Value{}}
	for name, key := range keys {
		s.keys[name] = secret.New(key)
	}
	return s
}

// Fail makes every call return err from now on; nil ends that. List goes on:
// the names of a keyring are in a file beside it.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Get implements secret.Store.
func (s *Store) Get(_ context.Context, name string) (secret.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return secret.Value{}, s.err
	}
	v, ok := s.keys[name]
	if !ok {
		return secret.Value{}, secret.ErrNotFound
	}
	return v, nil
}

// Set implements secret.Store.
func (s *Store) Set(_ context.Context, name string, v secret.Value) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.keys == nil {
		s.keys = map[string]secret.Value{}
	}
	s.keys[name] = v
	return nil
}

// Delete implements secret.Store.
func (s *Store) Delete(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if _, ok := s.keys[name]; !ok {
		return secret.ErrNotFound
	}
	delete(s.keys, name)
	return nil
}

// List implements secret.Store.
func (s *Store) List(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.keys)), nil
}
