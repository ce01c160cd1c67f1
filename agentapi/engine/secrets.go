package engine

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
)

// sealedPrefix is how a value begins that OpenHands has encrypted.
const sealedPrefix = "gAAAAA"

var errNoSecretKey = errors.New("the value is encrypted, and the key to decrypt it is missing")

// settingsSecrets are the secrets that OpenHands' settings give to every
// conversation: a value each, or a source as a conversation stores it.
func (b *Backend) settingsSecrets(s Settings) (*secretenv.Registry, error) {
	registry := secretenv.New(b.lookups())
	settings := storedagent.Agent{}
	if len(s.Agent) > 0 {
		if err := json.Unmarshal(s.Agent, &settings); err != nil {
			return nil, apierr.Refused("OpenHands' agent settings cannot be read; repair settings.json.", err)
		}
	}
	sources := settings.Object("agent_context").Object("secrets")
	for name, value := range maps.Clone(sources) {
		var plain string
		if json.Unmarshal(value, &plain) == nil {
			sources.Set(name, map[string]string{"kind": "StaticSecret", "value": plain})
		}
	}
	stored := storedagent.Agent{}
	stored.Set("secret_sources", sources)
	data, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	if _, err := registry.Decode(data, storedagent.InClear); err != nil {
		return nil, apierr.Refused("The secrets in OpenHands' settings cannot be read; repair settings.json.", err)
	}
	return registry, nil
}

// lookups is how secrets are looked up.
func (b *Backend) lookups() secretenv.Config {
	cfg := secretenv.Config{HTTP: b.cfg.HTTP, Now: b.cfg.Now}
	if b.cfg.BaseURL != nil {
		cfg.BaseURL = b.cfg.BaseURL()
	}
	return cfg
}

// secrets are those of a conversation: its own and those of the settings.
func (b *Backend) secrets(s store.State, settings Settings) (*secretenv.Registry, error) {
	registry, err := b.settingsSecrets(settings)
	if err != nil {
		return nil, err
	}
	lost, err := registry.Decode(s.SecretRegistry, b.unseal)
	if err != nil {
		return nil, apierr.Refused("The secrets of this conversation cannot be read; repair secret_registry in its base_state.json.", err)
	}
	if kept := b.unstored.of(s.ID).secrets; kept != nil {
		if _, err := registry.Decode(kept, storedagent.InClear); err != nil {
			return nil, err
		}
	}
	known := make(map[string]bool)
	for _, secret := range registry.List() {
		known[secret.Name] = true
	}
	for _, name := range lost {
		if !known[name] {
			b.cfg.Log.Warn("a secret of the conversation has no value on this machine", "conversation", s.ID, "name", name)
		}
	}
	return registry, nil
}

func (b *Backend) unseal(stored string) (string, error) {
	switch {
	case !strings.HasPrefix(stored, sealedPrefix):
		return stored, nil
	case b.cfg.Unseal == nil:
		return "", errNoSecretKey
	}
	return b.cfg.Unseal(stored)
}
