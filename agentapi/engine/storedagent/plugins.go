package storedagent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
)

// AddPlugin adds the skills and MCP servers of a plugin, whose secrets are sealed. As in
// OpenHands, they take the place of others with the same name.
func (a Agent) AddPlugin(p plugin.Plugin, seal func(string) (string, error)) error {
	brought := Agent{}
	brought.Set("mcp_config", p.Servers)
	servers, err := storedServers(brought, seal)
	if err != nil {
		return fmt.Errorf("MCP servers of the plugin %s: %w", p.Name, err)
	}
	if len(servers) > 0 {
		all := Agent{}
		maps.Copy(all, ServersOf(a))
		maps.Copy(all, servers)
		a.Set("mcp_config", all)
	}
	return a.AddSkills(p.Skills)
}

// AddSkills adds skills in the place of others with the same name.
func (a Agent) AddSkills(skills []skill.Skill) error {
	if len(skills) == 0 {
		return nil
	}
	words := a.Object("agent_context")
	var before []json.RawMessage
	_ = json.Unmarshal(words["skills"], &before) // no list: none
	list := slices.DeleteFunc(before, func(raw json.RawMessage) bool {
		var has struct{ Name string }
		_ = json.Unmarshal(raw, &has) // no skill: it stays
		return slices.ContainsFunc(skills, func(s skill.Skill) bool { return s.Name == has.Name })
	})
	for _, s := range skills {
		raw, err := skill.Encode(s)
		if err != nil {
			return err
		}
		list = append(list, raw)
	}
	words.Set("skills", list)
	a.Set("agent_context", words)
	return nil
}

// Marketplaces are those of the agent's context.
func (a Agent) Marketplaces() (list []plugin.Registration, err error) {
	if raw := a.Object("agent_context")["registered_marketplaces"]; len(raw) > 0 && json.Unmarshal(raw, &list) != nil {
		return nil, apierr.Refused("registered_marketplaces of the agent's context is not a list of marketplaces.", nil)
	}
	return list, nil
}
