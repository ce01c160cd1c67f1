package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
)

// maxAsked is how many members are asked at the same time whether they have a
// conversation.
const maxAsked = 16

// where finds the member that has a conversation, and waits for it to answer: the one that
// it is noted for, else the one that has it. Nil: no member has it.
func (b *Backend) where(ctx context.Context, id string) (*member, error) {
	name, err := b.cfg.Placer.Find(ctx, id)
	if err != nil {
		return nil, noteFault(ctx, err)
	}
	if m := b.named(name); m != nil {
		return m, m.ready(ctx)
	}
	// A member may have come back at another address, or the conversation is older
	// than the pool.
	m, err := b.search(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case m != nil:
		if err := b.cfg.Placer.Put(ctx, id, m.name); err != nil {
			return nil, noteFault(ctx, err)
		}
		return m, nil
	case name != "":
		return nil, &agentapi.Error{
			Kind: agentapi.ErrUnavailable,
			Msg:  fmt.Sprintf("The conversation is on the agent-server %s, which is not in the pool; nothing was started. Add it with --agent-server.", name),
		}
	}
	return nil, nil
}

// noteFault returns the error of notes that cannot be read or written.
func noteFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("look for the conversation: %w", ctx.Err())
	}
	return &agentapi.Error{
		Kind: agentapi.ErrUnavailable, Err: err,
		Msg: "ohgw cannot read where its conversations are; nothing was started. Its log has the cause.",
	}
}

// search asks all members for a conversation. Where none has it and one does not
// answer, that one may have it: ErrUnavailable.
func (b *Backend) search(ctx context.Context, id string) (*member, error) {
	if !b.anyKnown() {
		b.gather(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		found   *member
		unknown error
		room    = make(chan struct{}, maxAsked)
	)
	members := b.all()
	for _, m := range members {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			err := m.has(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				found = m
				cancel()
			case !errors.Is(err, agentapi.ErrConversationNotFound):
				unknown = firstOf(unknown, err)
			}
		})
	}
	wg.Wait()
	switch {
	case found != nil:
		return found, nil
	case len(members) == 0:
		return nil, errSilent()
	}
	return nil, unknown
}

// has asks the member whether it has a conversation: ErrConversationNotFound if not.
func (m *member) has(ctx context.Context, id string) error {
	limited, cancel := context.WithTimeout(ctx, m.b.cfg.Wait)
	defer cancel()
	err := m.ready(limited)
	if err == nil {
		_, err = m.to.About(limited, id)
		if ctx.Err() == nil {
			m.note(err)
		}
	}
	if err == nil || errors.Is(err, agentapi.ErrConversationNotFound) || ctx.Err() != nil {
		return err
	}
	return &agentapi.Error{
		Kind: agentapi.ErrUnavailable, Err: err,
		Msg: fmt.Sprintf("The agent-server %s does not answer, and may have this conversation; nothing was started. Try again in a moment.", m.name),
	}
}

func notFound(id string) error {
	return &agentapi.Error{Kind: agentapi.ErrConversationNotFound, Msg: fmt.Sprintf("No agent-server of the pool has the conversation %s.", id)}
}

// use does f with the member that has a conversation. The note of one that is gone is
// dropped.
func (b *Backend) use(ctx context.Context, id string, f func(*member) error) error {
	m, err := b.where(ctx, id)
	switch {
	case err != nil:
		return err
	case m == nil:
		return notFound(id)
	}
	err = f(m)
	m.note(err)
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		b.forget(ctx, id, m)
	}
	return err
}

// forget drops the note of a conversation. One that stays leads to a server without
// the conversation, which says so.
func (b *Backend) forget(ctx context.Context, id string, m *member) {
	if err := b.cfg.Placer.Remove(context.WithoutCancel(ctx), id, m.name); err != nil {
		b.cfg.Logger.Warn("cannot drop the note of a conversation", "conversation_id", id, "err", err)
	}
}

// Remove deletes a conversation, and its note.
func (b *Backend) Remove(ctx context.Context, id string) error {
	return b.use(ctx, id, func(m *member) error {
		err := m.to.Remove(ctx, id)
		if err == nil {
			b.forget(ctx, id, m)
		}
		return err
	})
}

// About describes a conversation.
func (b *Backend) About(ctx context.Context, id string) (about agentapi.About, err error) {
	err = b.use(ctx, id, func(m *member) (err error) {
		about, err = m.to.About(ctx, id)
		return err
	})
	return about, err
}

// Events reads a page of the log of a conversation.
func (b *Backend) Events(ctx context.Context, id string, q agentapi.EventQuery) (page agentapi.EventPage, err error) {
	err = b.use(ctx, id, func(m *member) (err error) {
		page, err = m.to.Events(ctx, id, q)
		return err
	})
	return page, err
}

// Extensions lists the MCP servers and skills of a conversation.
func (b *Backend) Extensions(ctx context.Context, id string) (list agentapi.Extensions, err error) {
	err = b.use(ctx, id, func(m *member) (err error) {
		list, err = m.to.Extensions(ctx, id)
		return err
	})
	return list, err
}
