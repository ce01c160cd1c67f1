// Package vault has the secrets of conversations: it seals and unseals them, and finds those
// that the settings have. It stores nothing itself.
package vault

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Config is what a vault works with. Only Now and Log are required.
type Config struct {
	// Seal encrypts a secret for a conversation's directory, and Unseal does the reverse.
	Seal   func(value string) (string, error)
	Unseal func(stored string) (string, error)
	// HTTP and BaseURL are for secrets that are looked up.
	HTTP    *http.Client
	BaseURL func() string
	Now     func() time.Time
	Log     *slog.Logger
}

// Vault has the secrets of conversations. It also keeps what their directories do not have,
// because there is no key to encrypt it: their agents and secrets in the clear, as long as
// the process lives.
type Vault struct {
	cfg Config

	mu   sync.Mutex
	kept map[string]Clear // by conversation
}

// New makes a vault that keeps nothing yet.
func New(cfg Config) *Vault {
	return &Vault{cfg: cfg, kept: make(map[string]Clear)}
}

// Clear is an agent and a registry of secrets with their values. Neither is
// ever stored or printed.
type Clear struct{ Agent, Secrets json.RawMessage }

// Keep keeps what is in the clear of a conversation; an empty part stays as it is.
func (v *Vault) Keep(id string, c Clear) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.kept[id]
	if c.Agent != nil {
		now.Agent = c.Agent
	}
	if c.Secrets != nil {
		now.Secrets = c.Secrets
	}
	v.kept[id] = now
}

// KeptOf is what is in the clear of a conversation.
func (v *Vault) KeptOf(id string) Clear {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.kept[id]
}

// Copy keeps of a conversation what is kept of another one.
func (v *Vault) Copy(to, from string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c, ok := v.kept[from]; ok {
		v.kept[to] = c
	}
}

// Drop forgets a conversation.
func (v *Vault) Drop(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.kept, id)
}
