package vault

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/internal/hidden"
)

// sealedPrefix is how a value begins that OpenHands has encrypted.
const sealedPrefix = "gAAAAA"

var errNoSecretKey = errors.New("the value is encrypted, and the key to decrypt it is missing")

// OfSettings reads the secrets that OpenHands' settings give to every conversation: a
// value each, or a source as a conversation stores it.
func (v *Vault) OfSettings(settings json.RawMessage) (*secretenv.Registry, error) {
	registry := secretenv.New(v.lookups())
	all := storedagent.Agent{}
	if len(settings) > 0 {
		if err := json.Unmarshal(settings, &all); err != nil {
			return nil, apierr.Refused("OpenHands' agent settings cannot be read; repair settings.json.", err)
		}
	}
	sources := all.Object("agent_context").Object("secrets")
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
func (v *Vault) lookups() secretenv.Config {
	cfg := secretenv.Config{HTTP: v.cfg.HTTP, Now: v.cfg.Now}
	if v.cfg.BaseURL != nil {
		cfg.BaseURL = v.cfg.BaseURL()
	}
	return cfg
}

// Of opens those of a conversation: its own and those of the settings. It logs those
// without a value on this machine.
func (v *Vault) Of(s store.State, settings json.RawMessage) (*secretenv.Registry, error) {
	registry, err := v.OfSettings(settings)
	if err != nil {
		return nil, err
	}
	lost, err := registry.Decode(s.SecretRegistry, v.unseal)
	if err != nil {
		return nil, apierr.Refused("The secrets of this conversation cannot be read; repair secret_registry in its base_state.json.", err)
	}
	if kept := v.KeptOf(s.ID).Secrets; kept != nil {
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
			v.cfg.Log.Warn("a secret of the conversation has no value on this machine", "conversation", s.ID, "name", name)
		}
	}
	return registry, nil
}

func (v *Vault) unseal(stored string) (string, error) {
	switch {
	case !strings.HasPrefix(stored, sealedPrefix):
		return stored, nil
	case v.cfg.Unseal == nil:
		return "", errNoSecretKey
	}
	return v.cfg.Unseal(stored)
}

// Seal encrypts a secret for a conversation's directory; without a key it is not
// stored. What was not stored elsewhere has no value.
func (v *Vault) Seal(value string) (string, error) {
	if v.cfg.Seal == nil || value == hidden.Redacted {
		return storedagent.Hide(value)
	}
	return v.cfg.Seal(value)
}

// given returns a secret of a request in the clear, or "" for a value that OpenHands has
// hidden.
func (v *Vault) given(value string) (string, error) {
	if value == hidden.Redacted {
		return "", nil
	}
	return v.unseal(value)
}

// Give adds secrets of a request to a registry: a source each, by name.
func (v *Vault) Give(registry *secretenv.Registry, sources map[string]json.RawMessage) error {
	data, err := json.Marshal(map[string]any{"secret_sources": sources})
	if err != nil {
		return err
	}
	lost, err := registry.Decode(data, v.unseal)
	if err != nil {
		return apierr.Refused("The secrets of the request cannot be read.", err)
	}
	for _, name := range lost {
		if strings.Contains(string(sources[name]), sealedPrefix) {
			return apierr.Refused(fmt.Sprintf("The secret %s cannot be decrypted; give it in the clear, or set OH_SECRET_KEY to the key that it was encrypted with.", name), nil)
		}
	}
	return nil
}

// KeepSecrets keeps secrets that were added and that cannot be encrypted, beside those
// of the conversation that are kept already.
func (v *Vault) KeepSecrets(id string, values map[string]secretenv.Secret) {
	registry := secretenv.New(secretenv.Config{HTTP: v.cfg.HTTP, Now: v.cfg.Now})
	var err error
	if kept := v.KeptOf(id).Secrets; kept != nil {
		_, err = registry.Decode(kept, storedagent.InClear)
	}
	registry.Set(values)
	all, encodeErr := registry.Encode(storedagent.InClear)
	if err := errors.Join(err, encodeErr); err != nil {
		v.cfg.Log.Error("secrets are lost when the conversation is closed", "conversation", id, "err", err)
		return
	}
	v.Keep(id, Clear{Secrets: all})
}
