package engine

import (
	"encoding/json"
	"sync"

	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/internal/hidden"
)

// seal encrypts a secret for a conversation's directory; without a key it is not
// stored. What was not stored elsewhere has no value.
func (b *Backend) seal(value string) (string, error) {
	if b.cfg.Seal == nil || value == hidden.Redacted {
		return storedagent.Hide(value)
	}
	return b.cfg.Seal(value)
}

// given returns a secret of a request in the clear, or "" for a value that OpenHands has
// hidden.
func (b *Backend) given(value string) (string, error) {
	if value == hidden.Redacted {
		return "", nil
	}
	return b.unseal(value)
}

// unstored keeps what the directories of conversations do not have, because there
// is no key to encrypt it: their agents and secrets in the clear, as long as the
// process lives. The zero value keeps nothing.
type unstored struct {
	mu   sync.Mutex
	kept map[string]inTheClear // by conversation
}

// inTheClear is an agent and a registry of secrets with their values. Neither is
// ever stored or printed.
type inTheClear struct{ agent, secrets json.RawMessage }

// set keeps what is in the clear of a conversation; an empty part stays as it is.
func (u *unstored) set(id string, c inTheClear) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.kept == nil {
		u.kept = make(map[string]inTheClear)
	}
	now := u.kept[id]
	if c.agent != nil {
		now.agent = c.agent
	}
	if c.secrets != nil {
		now.secrets = c.secrets
	}
	u.kept[id] = now
}

func (u *unstored) of(id string) inTheClear {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.kept[id]
}

// copy keeps of a conversation what is kept of another one.
func (u *unstored) copy(to, from string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if c, ok := u.kept[from]; ok {
		u.kept[to] = c
	}
}

func (u *unstored) drop(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.kept, id)
}
