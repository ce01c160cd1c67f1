package storedagent

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/ohgw/ohgw/internal/hidden"
)

// serverFields are the members of an MCP server that OpenHands takes; it
// refuses others in a conversation.
var serverFields = []string{
	"url", "transport", "command", "args", "env", "cwd", "description", "icon", "timeout", "sse_read_timeout", "keep_alive", "headers", "auth", "enabled",
}

// ServersOf are the MCP servers of agent settings or of a stored agent by name.
func ServersOf(a Agent) Agent {
	all := a.Object("mcp_config")
	if wrapped := all.Object("mcpServers"); len(wrapped) > 0 { // before OpenHands 1.37
		return wrapped
	}
	return all
}

// storedServers converts the MCP servers of the settings for a conversation: with
// every secret sealed, or without seal hidden.
func storedServers(settings Agent, seal func(string) (string, error)) (Agent, error) {
	if seal == nil {
		seal = func(string) (string, error) { return hidden.Redacted, nil }
	}
	all := ServersOf(settings)
	out := Agent{}
	for name := range all {
		server := all.Object(name)
		if _, ok := server["transport"]; !ok && server.Text("type") != "" {
			server["transport"] = server["type"]
		}
		if server.Text("transport") == "shttp" {
			server.Set("transport", "streamable-http")
		}
		maps.DeleteFunc(server, func(field string, value json.RawMessage) bool {
			return !slices.Contains(serverFields, field) || string(value) == "null" || field == "enabled" && string(value) == "true"
		})
		if err := MapSecrets(server, seal); err != nil {
			return nil, err
		}
		out.Set(name, server)
	}
	return out, nil
}

// MapSecrets replaces the secrets of an MCP server.
func MapSecrets(server Agent, f func(string) (string, error)) error {
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
		server.Set(name, tree)
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
