package run

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// Reader is who asks for a conversation without sending a message.
type Reader struct {
	Token string
	// Anyone says that owners do not count, as in [Request].
	Anyone bool
	// Owned says that conversations of nobody are closed to the token.
	Owned bool
}

// mayEnter refuses a conversation of another token as if there was none.
func (m *Manager) mayEnter(r Reader, conversation string) error {
	if r.Anyone {
		return nil
	}
	owner, err := m.owner(Request{Token: r.Token}, conversation)
	if err == nil && owner == "" && r.Owned {
		err = errForeign
	}
	return err
}

// About describes a conversation.
func (m *Manager) About(ctx context.Context, r Reader, conversation string) (agentapi.About, error) {
	if err := m.mayEnter(r, conversation); err != nil {
		return agentapi.About{}, err
	}
	return m.cfg.Backend.About(ctx, conversation)
}

// Extensions lists the MCP servers and the skills of a conversation.
func (m *Manager) Extensions(ctx context.Context, r Reader, conversation string) (agentapi.Extensions, error) {
	if err := m.mayEnter(r, conversation); err != nil {
		return agentapi.Extensions{}, err
	}
	return m.cfg.Backend.Extensions(ctx, conversation)
}

// Items lists what was said and done in a conversation; see [turn.Items].
func (m *Manager) Items(ctx context.Context, r Reader, conversation string, q turn.ItemQuery) ([]turn.Item, bool, error) {
	if err := m.mayEnter(r, conversation); err != nil {
		return nil, false, err
	}
	return turn.Items(ctx, m.cfg.Backend, conversation, q)
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
func (m *Manager) Remove(ctx context.Context, r Reader, conversation string) error {
	if err := m.mayEnter(r, conversation); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), emptyWait+removeTimeout)
	defer cancel()
	release, err := m.emptied(ctx, conversation)
	if err != nil {
		return err
	}
	defer release()
	if err := m.cfg.Backend.Remove(ctx, conversation); err != nil {
		return err
	}
	m.oneShots.removed(conversation)
	return m.tidyAfter(conversation)
}

// emptied stops the jobs of a conversation and takes its queue.
func (m *Manager) emptied(ctx context.Context, conversation string) (release func(), err error) {
	limit := time.NewTimer(emptyWait)
	defer limit.Stop()
	for {
		if release, ok := m.clear(conversation); ok {
			return release, nil
		}
		m.halt(conversation)
		select {
		case <-limit.C:
			return nil, ErrConversationBusy
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(stoppedAgain):
		}
	}
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

// removed strikes out a one-shot that a client has removed.
func (o *oneShots) removed(id string) {
	o.mu.Lock()
	s := o.shots[id]
	o.mu.Unlock()
	if s != nil && o.drop(s) {
		o.gone(id)
	}
}
