package vault

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/internal/hidden"
)

// errLostKey says that a secret of an LLM was not stored with the conversation.
var errLostKey = errors.New("the key of the model was not stored with the conversation")

// PlainAgent opens the secrets of the stored agent of a conversation, and reports
// whether the one of its model is among them.
func (v *Vault) PlainAgent(id string, stored storedagent.Agent) (plain storedagent.Agent, usable bool) {
	if kept := v.KeptOf(id).Agent; kept != nil {
		if json.Unmarshal(kept, &plain) == nil {
			return plain, true
		}
	}
	model, err := storedagent.Agent{"llm": stored["llm"]}.Replaced(func(value string) (string, error) {
		if value == hidden.Redacted {
			return "", errLostKey
		}
		return v.unseal(value)
	})
	usable = err == nil
	plain, err = stored.Replaced(func(value string) (string, error) {
		opened, err := v.given(value)
		if err != nil { // the servers and the registry say themselves what is lost
			return "", nil //nolint:nilerr // it has no value here
		}
		return opened, nil
	})
	if err != nil {
		return stored, false
	}
	if usable {
		plain["llm"] = model["llm"]
	}
	return plain, usable && storedagent.Callable(plain.Object("llm"))
}

// WithModel gives a stored agent another model, whose secrets are in the clear.
func (v *Vault) WithModel(id string, stored json.RawMessage, model storedagent.Agent) (json.RawMessage, error) {
	now := storedagent.Agent{}
	if err := json.Unmarshal(stored, &now); err != nil {
		return nil, apierr.Refused("The stored agent of this conversation cannot be read.", err)
	}
	plain, _ := v.PlainAgent(id, now)
	plain.Set("llm", model)
	sealed, err := storedagent.Agent{"llm": plain["llm"]}.Replaced(v.Seal)
	if err != nil {
		return nil, fmt.Errorf("encrypt the secrets of the agent: %w", err)
	}
	now["llm"] = sealed["llm"]
	if v.cfg.Seal == nil {
		kept, err := json.Marshal(plain)
		if err != nil {
			return nil, err
		}
		v.Keep(id, Clear{Agent: kept})
	}
	return json.Marshal(now)
}

// GivenAgent decodes an agent or settings of one, with what is encrypted in the
// clear.
func (v *Vault) GivenAgent(data json.RawMessage, name string) (storedagent.Agent, error) {
	given := storedagent.Agent{}
	if err := json.Unmarshal(data, &given); err != nil || given == nil {
		return nil, apierr.Refused(name+" is not a JSON object.", err)
	}
	plain, err := given.Replaced(v.given)
	if err != nil {
		return nil, apierr.Refused(fmt.Sprintf("A secret in %s cannot be decrypted; give it in the clear, or set OH_SECRET_KEY to the key that it was encrypted with.", name), err)
	}
	return plain, nil
}

// errHidden says that a secret was stored without its value.
var errHidden = errors.New("the value was not stored")

// Servers collects the MCP servers of a conversation, their secrets in the clear: of
// each name the one of the settings, which may have another key by now, and those
// that only the conversation has. lost are servers whose secrets were not stored or
// cannot be decrypted.
func (v *Vault) Servers(id string, stored storedagent.Agent, settings json.RawMessage) (all json.RawMessage, lost []string) {
	now := storedagent.Agent{}
	if len(settings) > 0 {
		if err := json.Unmarshal(settings, &now); err != nil {
			now = storedagent.Agent{} // told where the settings are read
		}
	}
	out := maps.Clone(storedagent.ServersOf(now))
	own := storedagent.ServersOf(stored)
	if plain := (storedagent.Agent{}); json.Unmarshal(v.KeptOf(id).Agent, &plain) == nil {
		own = storedagent.ServersOf(plain)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if _, ok := out[name]; ok {
			continue
		}
		server := own.Object(name)
		err := storedagent.MapSecrets(server, func(value string) (string, error) {
			if value == hidden.Redacted {
				return "", errHidden
			}
			return v.unseal(value)
		})
		if err != nil {
			lost = append(lost, name)
			continue
		}
		out.Set(name, server)
	}
	if len(out) == 0 {
		return nil, lost
	}
	all, err := json.Marshal(out)
	if err != nil {
		return nil, lost
	}
	return all, lost
}
