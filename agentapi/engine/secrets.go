package engine

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// sealedPrefix is how a value begins that OpenHands has encrypted.
const sealedPrefix = "gAAAAA"

var errNoSecretKey = errors.New("the value is encrypted, and the key to decrypt it is missing")

// settingsSecrets are the secrets that OpenHands' settings give to every
// conversation: a value each, or a source as a conversation stores it.
func (b *Backend) settingsSecrets(s Settings) (*secretenv.Registry, error) {
	registry := secretenv.New(secretenv.Config{HTTP: b.cfg.HTTP, Now: b.cfg.Now})
	settings := agent{}
	if len(s.Agent) > 0 {
		if err := json.Unmarshal(s.Agent, &settings); err != nil {
			return nil, refused("OpenHands' agent settings cannot be read; repair settings.json.", err)
		}
	}
	sources := settings.object("agent_context").object("secrets")
	for name, value := range maps.Clone(sources) {
		var plain string
		if json.Unmarshal(value, &plain) == nil {
			sources.set(name, map[string]string{"kind": "StaticSecret", "value": plain})
		}
	}
	stored := agent{}
	stored.set("secret_sources", sources)
	data, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	if _, err := registry.Decode(data, func(v string) (string, error) { return v, nil }); err != nil {
		return nil, refused("The secrets in OpenHands' settings cannot be read; repair settings.json.", err)
	}
	return registry, nil
}

// secrets are those of a conversation: its own and those of the settings.
func (b *Backend) secrets(s store.State, settings Settings) (*secretenv.Registry, error) {
	registry, err := b.settingsSecrets(settings)
	if err != nil {
		return nil, err
	}
	lost, err := registry.Decode(s.SecretRegistry, b.unseal)
	if err != nil {
		return nil, refused("The secrets of this conversation cannot be read; repair secret_registry in its base_state.json.", err)
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
