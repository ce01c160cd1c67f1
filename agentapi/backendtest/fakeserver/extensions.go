package fakeserver

import (
	"encoding/json"
	"maps"
	"slices"
)

// trimmed is the description of a conversation; since 1.23 without the skills,
// unless they are asked for.
func (v version) trimmed(saved map[string]any, skills bool) map[string]any {
	if skills || v < 1023 {
		return saved
	}
	agent, _ := saved["agent"].(map[string]any)
	context, _ := agent["agent_context"].(map[string]any)
	if list, _ := context["skills"].([]any); len(list) == 0 {
		return saved
	}
	saved, agent, context = maps.Clone(saved), maps.Clone(agent), maps.Clone(context)
	context["skills"] = []any{}
	agent["agent_context"], saved["agent"] = context, agent
	return saved
}

// serverTools lists the tools of the MCP servers: one of each, which with several
// servers has the name of its server before its own.
func (c *conversation) serverTools() []json.RawMessage {
	tools := []json.RawMessage{}
	servers, _ := c.agent["mcp_config"].(map[string]any)
	on := slices.DeleteFunc(slices.Sorted(maps.Keys(servers)), func(name string) bool {
		server, _ := servers[name].(map[string]any)
		return server["enabled"] == false
	})
	for _, name := range on {
		tool := "echo"
		if len(on) > 1 {
			tool = name + "_echo"
		}
		tools = append(tools, encode(map[string]any{"kind": "MCPToolDefinition", "mcp_tool": map[string]any{"name": tool}}))
	}
	return tools
}
