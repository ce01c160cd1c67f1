package run

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// Access says which conversations and responses are open to a caller. This is the
// one place of that rule: every request is decided by [Access.Enters].
type Access struct {
	// Token is the id of the caller's token. What it starts belongs to it.
	Token string
	// Own closes what belongs to no token: the token is limited to some models.
	Own bool
	// All opens what belongs to other tokens.
	All bool
	// Person is the user of this machine, or without keys everybody: all is open,
	// and what it starts belongs to no token.
	Person bool
}

// Enters reports whether a conversation, or a response, is open to the caller.
// Its owner is the id of the token that started it; empty: it was started elsewhere,
// or by an ohgw that recorded no owner.
func (a Access) Enters(owner string) bool {
	switch {
	case a.Person, a.All:
		return true
	case owner == "":
		return !a.Own
	}
	return owner == a.Token
}

// IsOneShot reports whether a conversation is a one-shot that is there and open to the
// caller.
func (m *Manager) IsOneShot(a Access, id string) bool {
	if id == "" || !m.oneShots.Has(id) {
		return false
	}
	owner, err := m.owner(id)
	return err == nil && a.Enters(owner)
}

// within calls f with the id of a conversation that is open to a. In place of one
// that is not, f gets an id that no conversation has, and its caller an error that
// does not tell: both are looked for in the same way.
func within[T any](m *Manager, a Access, conversation string, f func(id string) (T, error)) (T, error) {
	if a.Person {
		return f(conversation)
	}
	owner, err := m.owner(conversation)
	if err != nil {
		return *new(T), err
	}
	if a.Enters(owner) {
		return f(conversation)
	}
	v, err := f(newID())
	if err == nil || errors.Is(err, agentapi.ErrConversationNotFound) {
		err = errForeign
	}
	return v, err
}

// Sought is the id under which something of a conversation is looked for: its own,
// or where it is closed to the caller, one that no conversation has. So both are
// looked for in the same way, and neither is told from the other.
func (m *Manager) Sought(a Access, conversation string) (string, error) {
	if a.Person {
		return conversation, nil
	}
	owner, err := m.owner(conversation)
	if err == nil && !a.Enters(owner) {
		conversation = newID()
	}
	return conversation, err
}

// Reserve notes whose a conversation is that no agent has yet.
func (m *Manager) Reserve(a Access, conversation string) error {
	if a.Person {
		return nil
	}
	if err := m.cfg.Owners.Claim(conversation, a.Token); err != nil {
		return m.ownersFault(err)
	}
	return nil
}

// Discard forgets a conversation that no agent has.
func (m *Manager) Discard(conversation string) error { return m.tidyAfter(conversation) }

// About describes a conversation.
func (m *Manager) About(ctx context.Context, a Access, conversation string) (agentapi.About, error) {
	return within(m, a, conversation, func(id string) (agentapi.About, error) { return m.cfg.Backend.About(ctx, id) })
}

// Extensions lists the MCP servers and the skills of a conversation.
func (m *Manager) Extensions(ctx context.Context, a Access, conversation string) (agentapi.Extensions, error) {
	return within(m, a, conversation, func(id string) (agentapi.Extensions, error) { return m.cfg.Backend.Extensions(ctx, id) })
}

// ItemPage is a part of the items of a conversation.
type ItemPage struct {
	Items []turn.Item
	More  bool // there are others after it
}

// Items lists what was said and done in a conversation; see [turn.Items].
func (m *Manager) Items(ctx context.Context, a Access, conversation string, q turn.ItemQuery) (ItemPage, error) {
	return within(m, a, conversation, func(id string) (page ItemPage, err error) {
		page.Items, page.More, err = turn.Items(ctx, m.cfg.Backend, id, q)
		return page, err
	})
}

const (
	// emptyWait bounds the wait for the runs of a conversation that is to be
	// removed: a backend has 10 s to stop one.
	emptyWait = 15 * time.Second
	// stoppedAgain is when it is looked again whether the runs have left.
	stoppedAgain = 10 * time.Millisecond
)

// Remove stops the runs of a conversation and removes it, with the directory
// that was made for it. What was removed is not to come back: it goes on when
// the client leaves.
func (m *Manager) Remove(ctx context.Context, a Access, conversation string) error {
	_, err := within(m, a, conversation, func(id string) (struct{}, error) { return struct{}{}, m.remove(ctx, id) })
	return err
}

func (m *Manager) remove(ctx context.Context, conversation string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), emptyWait+removeTimeout)
	defer cancel()
	removed := false
	err := vacancy{m}.emptied(ctx, conversation, func(ctx context.Context) error {
		if err := m.cfg.Backend.Remove(ctx, conversation); err != nil {
			return err
		}
		removed = true
		return m.tidyAfter(conversation)
	})
	if removed { // not in there, where it would wait for its own end
		m.oneShots.Removed(conversation)
	}
	return err
}

// vacancy is a conversation while it has no run, at any gateway.
type vacancy struct{ m *Manager }

// emptied stops the runs of a conversation, and calls f while it has none.
func (v vacancy) emptied(ctx context.Context, conversation string, f func(context.Context) error) error {
	limit := time.NewTimer(emptyWait)
	defer limit.Stop()
	for {
		if ok, err := v.alone(ctx, conversation, f); ok || err != nil {
			return err
		}
		v.m.halt(conversation)
		v.m.peers.stop("", conversation, "")
		select {
		case <-limit.C:
			return ErrConversationBusy
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(stoppedAgain):
		}
	}
}

// alone calls f with the queue of a conversation, at all gateways if there are several. It is
// false, and f was not called, where a run goes on or waits.
func (v vacancy) alone(ctx context.Context, conversation string, f func(context.Context) error) (ok bool, err error) {
	here := func(ctx context.Context) error {
		release, free := v.m.clear(conversation)
		if !free {
			return nil
		}
		defer release()
		ok, err = true, f(ctx)
		return err
	}
	if v.m.cfg.Shots == nil {
		_ = here(ctx) // it is err
		return ok, err
	}
	if _, shared := v.m.cfg.Shots.Alone(ctx, conversation, here); !ok && shared != nil {
		return false, explained(shared)
	}
	return ok, err
}

// halt stops all jobs of a conversation.
func (m *Manager) halt(conversation string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.queues[conversation]; l != nil {
		for _, j := range l.jobs {
			j.life.halt(ErrStopped)
		}
	}
}

// Removed strikes out a one-shot that a client has removed.
func (o *oneShots) Removed(id string) {
	o.mu.Lock()
	s := o.shots[id]
	o.mu.Unlock()
	if s != nil && o.drop(s) {
		o.gone(id)
	}
}

// errNoSandbox is the answer of a backend whose agents ohgw puts into no sandbox.
var errNoSandbox = &agentapi.Error{
	Kind: agentapi.ErrUnsupported,
	Msg:  "The agents run in an agent-server, whose sandbox ohgw does not know; there is nothing to allow here.",
}

// Allow answers what the sandbox of a conversation refused.
func (m *Manager) Allow(ctx context.Context, a Access, conversation string, g agentapi.Grant) error {
	_, err := within(m, a, conversation, func(id string) (struct{}, error) {
		b, ok := m.cfg.Backend.(agentapi.Sandboxed)
		if !ok {
			return struct{}{}, errNoSandbox
		}
		return struct{}{}, b.Allow(ctx, id, g)
	})
	return err
}
