package files

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// AddServer adds a tool server (MCP), a JSON object, to the settings.
func (s *Store) AddServer(ctx context.Context, name string, server []byte) (openhands.Settings, error) {
	tree, faults, err := s.readJSON(shape.NewServerObject(), server)
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
	return s.patch(ctx, serverPatch(name, plain), func(now settings.Settings) error {
		if hasServer(now, name) {
			return refuse(openhands.Taken, "MCP server '%s' already exists", name)
		}
		return nil
	})
}

// PatchServer changes a tool server by a JSON merge patch.
func (s *Store) PatchServer(ctx context.Context, name string, patch []byte) (openhands.Settings, error) {
	_, faults, err := s.readJSON(shape.ServerPatch(), patch)
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
	return s.patch(ctx, serverPatch(name, members), needServer(name))
}

// RemoveServer takes a tool server out of the settings.
func (s *Store) RemoveServer(ctx context.Context, name string) (openhands.Settings, error) {
	return s.patch(ctx, serverPatch(name, nil), needServer(name))
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
