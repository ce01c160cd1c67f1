package files

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// Servers are the tool servers (MCP) of the settings.
type Servers struct {
	sealing  *Sealing
	settings *Settings
}

// Add adds a tool server (MCP), a JSON object, to the settings.
func (s *Servers) Add(ctx context.Context, name string, server []byte) (openhands.Settings, error) {
	tree, faults, err := s.sealing.readJSON(shape.NewServerObject(), server)
	if err != nil {
		return openhands.Settings{}, err
	}
	if len(faults) > 0 {
		return openhands.Settings{}, &openhands.Error{Kind: openhands.Invalid, Msg: "The server is not valid.", Faults: faultsOf(faults, "body")}
	}
	plain, err := exposed(tree, shape.Plain)
	if err != nil {
		return openhands.Settings{}, err
	}
	return s.settings.patch(ctx, serverPatch(name, plain), func(now settings.Settings) error {
		if hasServer(now, name) {
			return refuse(openhands.Taken, "MCP server '%s' already exists", name)
		}
		return nil
	})
}

// Patch changes a tool server by a JSON merge patch.
func (s *Servers) Patch(ctx context.Context, name string, patch []byte) (openhands.Settings, error) {
	_, faults, err := s.sealing.readJSON(shape.ServerPatch(), patch)
	if err != nil {
		return openhands.Settings{}, err
	}
	if len(faults) > 0 {
		return openhands.Settings{}, &openhands.Error{Kind: openhands.Invalid, Msg: "The patch is not valid.", Faults: faultsOf(faults, "body")}
	}
	members := map[string]any{}
	dec := json.NewDecoder(bytes.NewReader(patch))
	dec.UseNumber()
	if err := dec.Decode(&members); err != nil {
		return openhands.Settings{}, refuse(openhands.Malformed, "The patch is not a JSON object.")
	}
	return s.settings.patch(ctx, serverPatch(name, members), needServer(name))
}

// Remove takes a tool server out of the settings.
func (s *Servers) Remove(ctx context.Context, name string) (openhands.Settings, error) {
	return s.settings.patch(ctx, serverPatch(name, nil), needServer(name))
}

// serverPatch is a patch of one server; nil removes it.
func serverPatch(name string, server map[string]any) openhands.Patch {
	var value any
	if server != nil {
		value = server
	}
	return openhands.Patch{Agent: map[string]any{"mcp_config": map[string]any{name: value}}}
}

func hasServer(now settings.Settings, name string) bool {
	_, there := now.Agent.Tree("mcp_config")[name]
	return there
}

func needServer(name string) func(settings.Settings) error {
	return func(now settings.Settings) error {
		if !hasServer(now, name) {
			return refuse(openhands.NotFound, "MCP server '%s' was not found", name)
		}
		return nil
	}
}

// Plain returns a tool server of a request with its secrets decrypted; one that cannot
// be understood stays as it is.
func (s *Servers) Plain(server []byte) json.RawMessage {
	const name = "server"
	servers, err := json.Marshal(map[string]json.RawMessage{name: server})
	if err != nil {
		return server
	}
	tree, ok := readServers(s.sealing, servers)
	if !ok {
		return server
	}
	if plain, err := encode(tree.Tree(name), shape.Plain); err == nil {
		return plain
	}
	return server
}

// Masked returns tool servers by name as OpenHands shows them: with its defaults, with
// masks for their secrets, and without what it does not know. It is nil for what cannot
// be understood.
func (s *Servers) Masked(servers []byte) json.RawMessage {
	tree, ok := readServers(s.sealing, servers)
	if !ok {
		return nil
	}
	masked, err := encode(tree, shape.Masked)
	if err != nil {
		return nil
	}
	return masked
}

// readServers reads tool servers by name.
func readServers(s *Sealing, servers []byte) (shape.Tree, bool) {
	data, err := json.Marshal(map[string]json.RawMessage{serversMember: servers})
	if err != nil {
		return nil, false
	}
	tree, faults, err := s.readJSON(shape.AgentSettings(), data)
	if err != nil || len(faults) > 0 {
		return nil, false
	}
	return tree.Tree(serversMember), true
}
