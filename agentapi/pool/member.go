package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
)

// member is an agent-server of the pool.
type member struct {
	b       *Backend
	name    string // its identity
	address string
	to      agentapi.Backend
	wake    chan struct{} // gets something when it is worth looking
	life    context.Context
	end     context.CancelFunc

	mu     sync.Mutex
	listed bool // it is configured, or its DNS name has it now
	misses int  // missing answers in a row, of looks and of requests
	err    error
	asked  time.Time // of the last look that ended; zero: never
	flight chan struct{}
	since  time.Time // when the look that goes on began
	list   []agentapi.Profile
	known  bool // there is a list
	self   agentapi.Status
	selfAt time.Time
	shared placement.Server // what is noted of it
	held   map[string]int   // conversations with open handles
}

func newMember(b *Backend, name, address string, to agentapi.Backend) *member {
	m := &member{b: b, name: name, address: address, to: to, wake: make(chan struct{}, 1), listed: true, held: make(map[string]int)}
	m.life, m.end = context.WithCancel(b.life)
	return m
}

// keep looks at the member until its life ends.
func (m *member) keep() {
	ticker := time.NewTicker(m.b.cfg.Interval)
	defer ticker.Stop()
	for m.life.Err() == nil {
		m.check()
		select {
		case <-ticker.C:
		case <-m.wake:
		case <-m.life.Done():
		}
	}
}

// check looks at the member unless another gateway does, and notes how it answered.
func (m *member) check() {
	m.mu.Lock()
	own := m.misses > 0 || m.asked.IsZero()
	m.mu.Unlock()
	if !own {
		due, err := m.b.cfg.Placer.Due(m.life, m.name)
		if err == nil && !due {
			return
		}
	}
	if flight := m.look(lookAgain); flight != nil {
		select {
		case <-flight:
		case <-m.life.Done():
			return
		}
	}
	m.mu.Lock()
	err := m.err
	m.mu.Unlock()
	m.seen(m.life, err)
}

// seen notes how the member answered.
func (m *member) seen(ctx context.Context, err error) {
	failed := ""
	if err != nil {
		failed = agentapi.PublicMessage(err, "It does not answer.")
	}
	if err := m.b.cfg.Placer.Seen(ctx, m.name, failed); err != nil && ctx.Err() == nil {
		m.b.cfg.Logger.Debug("cannot note how an agent-server answers", "server", m.name, "err", err)
	}
}

// look asks the member for its profiles, unless that was done less than age ago: then
// it is nil. The channel is closed when the answer is there.
func (m *member) look(age time.Duration) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.flight != nil {
		return m.flight
	}
	if !m.asked.IsZero() && age > 0 && m.b.cfg.Now().Sub(m.asked) < age || m.life.Err() != nil {
		return nil
	}
	done := make(chan struct{})
	m.flight, m.since = done, m.b.cfg.Now()
	fresh := !m.selfAt.IsZero() && m.since.Sub(m.selfAt) < statusAge
	m.b.work.Go(func() { // ends at the latest after lookTimeout
		ctx, cancel := context.WithTimeout(m.life, lookTimeout)
		defer cancel()
		list, err := m.to.Profiles(ctx)
		var self *agentapi.Status
		if err == nil && !fresh {
			st := m.to.Status(ctx)
			self = &st
		}
		if err != nil && ctx.Err() != nil {
			err = &agentapi.Error{Kind: agentapi.ErrUnavailable, Err: err, Msg: fmt.Sprintf("The agent-server at %s did not answer in time.", m.address)}
		}
		m.learn(list, self, err)
		m.b.merge() // before the look is over: who waits for it reads what is agreed
		m.land(done)
		m.b.tell()
	})
	return done
}

// learn takes over an answer.
func (m *member) learn(list []agentapi.Profile, self *agentapi.Status, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = m.b.cfg.Now()
	if m.life.Err() != nil {
		return
	}
	if err != nil {
		m.missed(err)
		m.selfAt = time.Time{}
		return
	}
	m.answered()
	m.list, m.known = list, true
	if self != nil && self.Err == nil {
		m.self, m.selfAt = *self, m.asked
	}
}

// land ends a look.
func (m *member) land(done chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flight = nil
	close(done)
}

// missed counts a missing answer. The caller holds m.mu.
func (m *member) missed(err error) {
	m.misses++
	m.err = err
	if m.misses == 1 || m.misses == placement.MaxMisses {
		m.b.cfg.Logger.Warn("an agent-server of the pool does not answer", "server", m.name, "lost", m.misses >= placement.MaxMisses, "why", agentapi.PublicMessage(err, ""), "err", err)
	}
}

// answered forgets missing answers. The caller holds m.mu.
func (m *member) answered() {
	if m.misses > 0 {
		m.b.cfg.Logger.Info("an agent-server of the pool answers again", "server", m.name)
	}
	m.misses, m.err = 0, nil
	if m.shared.State == agentapi.MemberLost {
		m.shared.State = agentapi.MemberUp
	}
}

// note learns from the outcome of a request that was sent to the member.
func (m *member) note(err error) {
	if !errors.Is(err, agentapi.ErrUnavailable) && !errors.Is(err, agentapi.ErrLost) {
		return
	}
	m.mu.Lock()
	m.missed(err)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// progress reports whether the member answers as far as is known, and whether it is
// being asked.
func (m *member) progress() (fine, looking bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known && m.err == nil, m.flight != nil
}

// profiles are those of a member that counts for what the pool agrees on.
func (m *member) profiles() ([]agentapi.Profile, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list, m.known && m.listed && !m.lost()
}

// lost reports whether the member is taken for lost. The caller holds m.mu.
func (m *member) lost() bool {
	return m.misses >= placement.MaxMisses || m.shared.State == agentapi.MemberLost
}

// ready waits for a member that was lost, for a short time: it may be back.
func (m *member) ready(ctx context.Context) error {
	m.mu.Lock()
	lost, err := m.lost(), m.err
	m.mu.Unlock()
	if !lost {
		return nil
	}
	if flight := m.look(0); flight != nil {
		timer := time.NewTimer(m.b.cfg.Wait)
		defer timer.Stop()
		select {
		case <-flight:
		case <-timer.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the agent-server %s: %w", m.name, ctx.Err())
		}
	}
	m.mu.Lock()
	lost, err = m.lost(), firstOf(m.err, err)
	m.mu.Unlock()
	if !lost {
		m.seen(ctx, nil)
		return nil
	}
	return &agentapi.Error{
		Kind: agentapi.ErrUnavailable, Err: err,
		Msg: fmt.Sprintf("The agent-server %s, which has this conversation, does not answer; nothing was started. The conversation continues when it is back.", m.name),
	}
}

// hold counts a handle on a conversation, until release is called.
func (m *member) hold(id string) (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[id]++
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.held[id]--; m.held[id] == 0 {
			delete(m.held, id)
		}
	})
}

// status returns what is known of the member, and what it said about itself.
func (m *member) status() (agentapi.Member, agentapi.Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := agentapi.MemberUp
	switch {
	case m.shared.State == agentapi.MemberDraining:
		state = agentapi.MemberDraining
	case m.lost():
		state = agentapi.MemberLost
	}
	return agentapi.Member{
		Name: m.name, Address: m.address, Profiles: len(m.list), Asked: m.asked, Err: m.err,
		State: state, Runs: max(len(m.held), m.shared.Runs), Slots: m.b.cfg.Slots,
	}, m.self
}

// sync reads what is noted of the members.
func (b *Backend) sync(ctx context.Context) {
	servers, err := b.cfg.Placer.Servers(ctx)
	if err != nil {
		if ctx.Err() == nil {
			b.cfg.Logger.Debug("cannot read what is noted of the pool", "err", err)
		}
		return
	}
	for _, s := range servers {
		if m := b.named(s.Name); m != nil {
			m.mu.Lock()
			m.shared = s
			m.mu.Unlock()
		}
	}
}
