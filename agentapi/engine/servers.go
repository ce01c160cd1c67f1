package engine

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/internal/hidden"
)

// errHidden says that a secret was stored without its value.
var errHidden = errors.New("the value was not stored")

// servers are the MCP servers of a conversation, their secrets in the clear: of
// each name the one of the settings, which may have another key by now, and
// those that only the conversation has. lost are servers whose secrets were not
// stored or cannot be decrypted.
func (b *Backend) servers(id string, stored storedagent.Agent, settings Settings) (all json.RawMessage, lost []string) {
	now := storedagent.Agent{}
	if len(settings.Agent) > 0 {
		if err := json.Unmarshal(settings.Agent, &now); err != nil {
			now = storedagent.Agent{} // told where the settings are read
		}
	}
	out := maps.Clone(storedagent.ServersOf(now))
	own := storedagent.ServersOf(stored)
	if plain := (storedagent.Agent{}); json.Unmarshal(b.unstored.of(id).agent, &plain) == nil {
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
			return b.unseal(value)
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

// lostText is what the model and the person read about servers that cannot be used here.
func lostText(names []string) string {
	return "The MCP servers " + strings.Join(names, ", ") + " of this conversation cannot be used here, because their secrets were not stored with the conversation. Their tools are missing."
}
