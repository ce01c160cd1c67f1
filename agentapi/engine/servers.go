package engine

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/hidden"
)

// errHidden says that a secret was stored without its value.
var errHidden = errors.New("the value was not stored")

// serverFields are the members of an MCP server that OpenHands takes; it
// refuses others in a conversation.
var serverFields = []string{
	"url", "transport", "command", "args", "env", "cwd", "description", "icon", "timeout", "sse_read_timeout", "keep_alive", "headers", "auth", "enabled",
}

// serversOf are the MCP servers of agent settings or of a stored agent by name.
func serversOf(a agent) agent {
	all := a.object("mcp_config")
	if wrapped := all.object("mcpServers"); len(wrapped) > 0 { // before OpenHands 1.37
		return wrapped
	}
	return all
}

// storedServers are the MCP servers of the settings as a conversation keeps
// them: with every secret sealed, or without seal hidden.
func storedServers(settings agent, seal func(string) (string, error)) (agent, error) {
	if seal == nil {
		seal = func(string) (string, error) { return hidden.Redacted, nil }
	}
	all := serversOf(settings)
	out := agent{}
	for name := range all {
		server := all.object(name)
		if _, ok := server["transport"]; !ok && server.text("type") != "" {
			server["transport"] = server["type"]
		}
		if server.text("transport") == "shttp" {
			server.set("transport", "streamable-http")
		}
		maps.DeleteFunc(server, func(field string, value json.RawMessage) bool {
			return !slices.Contains(serverFields, field) || string(value) == "null" || field == "enabled" && string(value) == "true"
		})
		if err := mapSecrets(server, seal); err != nil {
			return nil, err
		}
		out.set(name, server)
	}
	return out, nil
}

// mapSecrets replaces the secrets of an MCP server.
func mapSecrets(server agent, f func(string) (string, error)) error {
	for _, name := range []string{"env", "headers", "auth"} {
		value, ok := server[name]
		if !ok {
			continue
		}
		var tree any
		if err := json.Unmarshal(value, &tree); err != nil {
			return err
		}
		tree, err := mapTree(tree, name != "auth", f)
		if err != nil {
			return err
		}
		server.set(name, tree)
	}
	return nil
}

// secretFields are the members of auth, at any depth, that are secret.
var secretFields = []string{"value", "password", "client_secret", "access_token", "refresh_token"}

// mapTree replaces each text of tree if it is secret, and the secret members
// below it.
func mapTree(tree any, secret bool, f func(string) (string, error)) (any, error) {
	switch v := tree.(type) {
	case string:
		if !secret {
			return v, nil
		}
		return f(v)
	case map[string]any:
		for name, value := range v {
			next, err := mapTree(value, secret || name == "headers" || slices.Contains(secretFields, name), f)
			if err != nil {
				return nil, err
			}
			v[name] = next
		}
	case []any:
		for i, value := range v {
			next, err := mapTree(value, secret, f)
			if err != nil {
				return nil, err
			}
			v[i] = next
		}
	}
	return tree, nil
}

// servers are the MCP servers of a conversation, their secrets in the clear: of
// each name the one of the settings, which may have another key by now, and
// those that only the conversation has. lost are servers whose secrets were not
// stored or cannot be decrypted.
func (b *Backend) servers(id string, stored agent, settings Settings) (all json.RawMessage, lost []string) {
	now := agent{}
	if len(settings.Agent) > 0 {
		if err := json.Unmarshal(settings.Agent, &now); err != nil {
			now = agent{} // told where the settings are read
		}
	}
	out := maps.Clone(serversOf(now))
	own := serversOf(stored)
	if plain := (agent{}); json.Unmarshal(b.unstored.of(id).agent, &plain) == nil {
		own = serversOf(plain)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if _, ok := out[name]; ok {
			continue
		}
		server := own.object(name)
		err := mapSecrets(server, func(value string) (string, error) {
			if value == hidden.Redacted {
				return "", errHidden
			}
			return b.unseal(value)
		})
		if err != nil {
			lost = append(lost, name)
			continue
		}
		out.set(name, server)
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
