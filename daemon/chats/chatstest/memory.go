package chatstest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon/chats"
)

// Memory is a store in memory that gateways share. The zero value is empty.
type Memory struct {
	mu    sync.Mutex
	chats map[string]kept
	loose []looseKept // oldest first
	last  int64
	dead  map[string]bool
}

type kept struct {
	record []byte
	rev    int64
}

type looseKept struct {
	chats.Loose

	place string
	words []string
}

// Join adds a gateway.
func (m *Memory) Join() *Side {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	return &Side{m: m, self: strconv.FormatInt(m.last, 10)}
}

// Side is a Memory as one gateway has it. It implements chats.Store.
type Side struct {
	m    *Memory
	self string

	fails error
}

var _ chats.Store = (*Side)(nil)

// Die ends the gateway: its runs are over.
func (s *Side) Die() {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.m.dead == nil {
		s.m.dead = make(map[string]bool)
	}
	s.m.dead[s.self] = true
}

// Fail lets every call fail with err; nil ends that.
func (s *Side) Fail(err error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.fails = err
}

// Load implements chats.Store.
func (s *Side) Load(_ context.Context, key string, have int64) ([]byte, int64, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	k := s.m.chats[key]
	if s.fails != nil {
		return nil, 0, s.fails
	}
	if k.rev == have {
		return nil, k.rev, nil
	}
	return k.record, k.rev, nil
}

// Save implements chats.Store.
func (s *Side) Save(_ context.Context, key string, record []byte, rev int64) (int64, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	switch {
	case s.fails != nil:
		return 0, s.fails
	case s.m.chats[key].rev != rev:
		return 0, chats.ErrChanged
	case s.m.chats == nil:
		s.m.chats = make(map[string]kept)
	}
	s.m.chats[key] = kept{slices.Clone(record), rev + 1}
	return rev + 1, nil
}

// Self implements chats.Store.
func (s *Side) Self() string { return s.self }

// Alive implements chats.Store.
func (s *Side) Alive(_ context.Context, gateway, _, _ string) (bool, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return !s.m.dead[gateway], s.fails
}

// AddLoose implements chats.Store. It keeps everything.
func (s *Side) AddLoose(_ context.Context, place string, words []string, record []byte, _ time.Duration) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.last++
	s.m.loose = append(s.m.loose, looseKept{chats.Loose{ID: s.m.last, Record: record}, place, words})
	return s.fails
}

// FindLoose implements chats.Store.
func (s *Side) FindLoose(_ context.Context, place string, words []string) ([]chats.Loose, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	var found []chats.Loose
	for _, l := range slices.Backward(s.m.loose) {
		if l.place == place && slices.ContainsFunc(l.words, func(w string) bool { return slices.Contains(words, w) }) {
			found = append(found, l.Loose)
		}
	}
	return found, s.fails
}

// TakeLoose implements chats.Store.
func (s *Side) TakeLoose(_ context.Context, id int64) (bool, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	before := len(s.m.loose)
	s.m.loose = slices.DeleteFunc(s.m.loose, func(l looseKept) bool { return l.ID == id })
	return len(s.m.loose) < before, s.fails
}

// Sweep implements chats.Store. It forgets nothing.
func (s *Side) Sweep(context.Context, time.Duration) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.fails
}
