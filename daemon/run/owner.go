package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
)

// Owners knows which token began a conversation, across restarts.
type Owners interface {
	// Owner is the id of the token; empty: nobody owns the conversation.
	Owner(conversation string) (token string, err error)
	Claim(conversation, token string) error
	Forget(conversation string) error
}

// nobodys is where all conversations belong to nobody.
type nobodys struct{}

func (nobodys) Owner(string) (string, error) { return "", nil }
func (nobodys) Claim(string, string) error   { return nil }
func (nobodys) Forget(string) error          { return nil }

// foreign tells, before anything is done for a request, whether it names the
// conversation of another token. What a chat remembers is its token's own.
func (m *Manager) foreign(req Request) error {
	if req.ConversationID == "" || req.Chat != nil || req.Anyone {
		return nil
	}
	_, err := m.owner(req, req.ConversationID)
	return err
}

// owner is the owner of a conversation that req may enter as far as its owner
// is concerned: the request's token, or nobody.
func (m *Manager) owner(req Request, conversation string) (string, error) {
	owner, err := m.cfg.Owners.Owner(conversation)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrState, err)
	case owner != "" && owner != req.Token:
		return "", errForeign
	}
	return owner, nil
}

// foreignQueue reports whether a request would wait for another token in a
// conversation that nobody owns, although it may not enter such ones. The
// caller holds m.mu.
func foreignQueue(req Request, l *conversationQueue) bool {
	if req.May == nil || req.Chat != nil || req.Anyone {
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
func (j *job) claim(info agentapi.Info, made bool) error {
	if j.req.Anyone {
		return nil
	}
	m := j.m
	if !made {
		owner, err := m.owner(j.req, j.id)
		if err != nil || owner != "" {
			return err
		}
		if j.req.Chat == nil {
			if j.req.May != nil && !j.req.May(info.Profile) {
				return errForeign
			}
			return nil // it stays nobody's
		}
	}
	if err := m.cfg.Owners.Claim(j.id, j.req.Token); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return nil
}

// disown lets go of a conversation that the job may not enter. One that was
// made for a client but could not be given an owner is removed: the next
// attempt would find a conversation of nobody. One-shots are removed anyway.
func (j *job) disown(conv agentapi.Conversation, made bool, err error) error {
	err = errors.Join(err, conv.Close())
	if made && !j.oneShot() && errors.Is(err, ErrState) {
		err = errors.Join(err, j.m.cfg.Backend.Remove(context.WithoutCancel(j.life.ctx), j.id))
	}
	return err
}
