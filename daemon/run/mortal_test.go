package run_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/daemon/run/ledger/ledgertest"
)

// mortal is the life of a gateway, which dies at a step of the protocol that a test has chosen.
type mortal struct {
	l    *ledgertest.Replica
	life context.Context // ends with the connections of its clients
	end  context.CancelFunc

	mu     sync.Mutex
	steps  []string // so far
	last   int      // the step at which it dies, from 1; 0: it does not
	dead   bool
	frozen chan struct{} // nil: it is not
	freeze string        // the step at which it freezes
}

// pass is one step, before or after a call. It reports whether the gateway lives.
func (m *mortal) pass(name string) bool {
	m.mu.Lock()
	if m.freeze == name {
		m.freeze, m.frozen = "", make(chan struct{})
		m.l.Freeze()
	}
	frozen := m.frozen
	m.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps = append(m.steps, name)
	if m.last > 0 && len(m.steps) == m.last {
		m.killLocked()
	}
	return !m.dead
}

// kill ends the gateway as a crash does: from here on no call of it arrives.
func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.killLocked()
}

func (m *mortal) killLocked() {
	if !m.dead {
		m.dead = true
		m.l.Die()
		m.end()
	}
}

// thaw ends the freeze.
func (m *mortal) thaw() {
	m.mu.Lock()
	frozen := m.frozen
	m.frozen = nil
	m.mu.Unlock()
	m.l.Thaw()
	close(frozen)
}

// between calls f, and fails if the gateway dies before or after it.
func (m *mortal) between(name string, f func() error) error {
	if !m.pass(name) {
		return fmt.Errorf("%w: %w", ledger.ErrAway, errAway)
	}
	err := f()
	if !m.pass(name + " done") {
		return fmt.Errorf("%w: %w", ledger.ErrAway, errAway)
	}
	return err
}

// stepped is a ledger whose calls are steps.
type stepped struct {
	*ledgertest.Replica

	life *mortal
}

func (s stepped) Claim(ctx context.Context, c ledger.Claim) (f ledger.Found, err error) {
	err = s.life.between("claim", func() (err error) {
		f, err = s.Replica.Claim(ctx, c)
		return err
	})
	return f, err
}

func (s stepped) Turn(ctx context.Context, t ledger.Ticket) error {
	return s.life.between("turn", func() error { return s.Replica.Turn(ctx, t) })
}

func (s stepped) Sending(ctx context.Context, t ledger.Ticket, b turn.Baseline, request []byte, keyed bool) error {
	return s.life.between("sending", func() error { return s.Replica.Sending(ctx, t, b, request, keyed) })
}

func (s stepped) Running(ctx context.Context, t ledger.Ticket) error {
	return s.life.between("running", func() error { return s.Replica.Running(ctx, t) })
}

func (s stepped) Started(ctx context.Context, t ledger.Ticket, interrupt func(context.Context) error) error {
	return s.life.between("started", func() error { return s.Replica.Started(ctx, t, interrupt) })
}

func (s stepped) End(ctx context.Context, t ledger.Ticket, e ledger.Ending) error {
	return s.life.between("end", func() error { return s.Replica.End(ctx, t, e) })
}

// alive fails where the gateway is dead, and is not a step.
func (m *mortal) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errAway
	}
	return nil
}

func (s stepped) Drop(ctx context.Context, t ledger.Ticket) error {
	if err := s.life.alive(); err != nil {
		return err
	}
	return s.Replica.Drop(ctx, t)
}

func (s stepped) Release(ctx context.Context, t ledger.Ticket) error {
	if err := s.life.alive(); err != nil {
		return err
	}
	return s.Replica.Release(ctx, t)
}

func (s stepped) Await(ctx context.Context, run int64) (ledger.Found, error) {
	if err := s.life.alive(); err != nil {
		return ledger.Found{}, err
	}
	return s.Replica.Await(ctx, run)
}

func (s stepped) Orphans(ctx context.Context) ([]ledger.Found, error) {
	if err := s.life.alive(); err != nil {
		return nil, err
	}
	return s.Replica.Orphans(ctx)
}

// mortalShots are the one-shots as a mortal gateway sees them.
type mortalShots struct {
	ledgertest.Shots

	life *mortal
}

func (s mortalShots) Ends(ctx context.Context, conversation string, after time.Duration) error {
	if err := s.life.alive(); err != nil {
		return err
	}
	return s.Shots.Ends(ctx, conversation, after)
}

func (s mortalShots) Due(ctx context.Context, orphan time.Duration, remove func(context.Context, string, int) time.Duration) (bool, error) {
	if err := s.life.alive(); err != nil {
		return false, err
	}
	return s.Shots.Due(ctx, orphan, remove)
}

// mortalBackend is the backend as a mortal gateway sees it, with sends in two steps.
type mortalBackend struct {
	*backend

	life *mortal
}

func (b mortalBackend) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	if err := b.life.alive(); err != nil {
		return nil, &agentapi.Error{Kind: agentapi.ErrUnavailable, Err: err}
	}
	c, err := b.backend.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	return fencedHandle{c.(handle), b.life}, nil
}

// fencedHandle is a conversation of a mortal gateway.
type fencedHandle struct {
	handle

	life *mortal
}

func (h fencedHandle) Append(ctx context.Context, m agentapi.Message) error {
	return h.life.between("append", func() error { return h.handle.Append(ctx, m) })
}

func (h fencedHandle) Start(ctx context.Context) error {
	return h.life.between("start", func() error { return h.handle.Start(ctx) })
}

func (h fencedHandle) Interrupt(ctx context.Context) error {
	if err := h.life.alive(); err != nil {
		return &agentapi.Error{Kind: agentapi.ErrUnavailable, Err: err}
	}
	return h.handle.Interrupt(ctx)
}
