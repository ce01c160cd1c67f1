package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
)

// Owners knows which token began a conversation, across restarts.
type Owners interface {
	// Owner returns the id of the token; empty: the conversation has no owner.
	Owner(conversation string) (token string, err error)
	Claim(conversation, token string) error
	Forget(conversation string) error
}

// nobodys is the store of owners where no conversation has an owner.
type nobodys struct{}

func (nobodys) Owner(string) (string, error) { return "", nil }
func (nobodys) Claim(string, string) error   { return nil }
func (nobodys) Forget(string) error          { return nil }

// foreign refuses, before anything is done for a request, the conversation of a token
// whose conversations are closed to it. One of no token may not be there yet: it is
// looked at when it is open. What a chat remembers is its token's own.
func (m *Manager) foreign(req Request) error {
	if req.Chat != nil {
		return nil
	}
	return m.MayName(req.Access, req.ConversationID)
}

// MayName refuses a conversation that belongs to a token whose conversations are
// closed to the caller. A conversation that is not known may be started, and one
// of no token is checked when it is open. An empty id names no conversation.
func (m *Manager) MayName(a Access, conversation string) error {
	if conversation == "" || a.Person {
		return nil
	}
	owner, err := m.owner(conversation)
	if err == nil && owner != "" && !a.Enters(owner) {
		err = errForeign
	}
	return err
}

// Owner is the token that a conversation belongs to; empty: none does.
func (m *Manager) Owner(conversation string) (string, error) { return m.owner(conversation) }

// owner is the token that owns a conversation; empty: no token does.
func (m *Manager) owner(conversation string) (string, error) {
	owner, err := m.cfg.Owners.Owner(conversation)
	if err != nil {
		return "", m.ownersFault(err)
	}
	return owner, nil
}

// ownersFault names what could not be asked for an owner. Gateways that share their runs share
// the owners, too.
func (m *Manager) ownersFault(err error) error {
	if m.cfg.Ledger != nil {
		return fmt.Errorf("%w: %w", ErrLedger, err)
	}
	return fmt.Errorf("%w: %w", ErrState, err)
}

// foreignQueue reports whether a request would wait for another token in a
// conversation without an owner, although it may not enter such ones. The
// caller holds m.mu.
func foreignQueue(req Request, l *conversationQueue) bool {
	if req.Enters("") || req.Chat != nil {
		return false
	}
	for _, j := range l.jobs {
		if j.req.Token != req.Token {
			return true
		}
	}
	return false
}

// claim makes sure that the job may enter the conversation that it has opened,
// and notes whose it is.
func (j *job) claim(made bool) error {
	if j.req.Person {
		return nil
	}
	m := j.m
	if !made || j.req.ConversationID != "" { // else its id is new, too
		owner, err := m.owner(j.id)
		unowned := owner == "" && (made || j.req.Chat != nil) // it becomes the token's
		if err == nil && !unowned && !j.req.Enters(owner) {
			err = errForeign
		}
		if err != nil || !unowned {
			return err
		}
	}
	if err := m.cfg.Owners.Claim(j.id, j.req.Token); err != nil {
		return m.ownersFault(err)
	}
	return nil
}

// disown lets go of a conversation that the job may not enter. A conversation
// that was made for a client but could not be given an owner is removed: the
// next attempt would find it without an owner. One-shots are removed anyway.
func (j *job) disown(conv agentapi.Conversation, made bool, err error) error {
	err = errors.Join(err, conv.Close())
	if made && !j.oneShot() && (errors.Is(err, ErrState) || errors.Is(err, ErrLedger)) {
		err = errors.Join(err, j.m.cfg.Backend.Remove(context.WithoutCancel(j.life.ctx), j.id))
	}
	return err
}
