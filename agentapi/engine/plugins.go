package engine

import (
	"encoding/json"
	"maps"

	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// pluginHooks are the hooks of the user's plugins.
func (b *Backend) pluginHooks() (all hookfile.Config) {
	plugins, _ := plugin.Find(nil, b.cfg.Home)
	for _, p := range plugins {
		config, err := p.Hooks()
		if err != nil {
			b.cfg.Log.Warn("the hooks of a plugin cannot be read", "plugin", p.Name, "dir", p.Dir, "err", err)
			continue
		}
		all = all.Merge(config)
	}
	return all
}

// withPlugins are settings with the MCP servers of the user's plugins, which come
// before others of the same name.
func (b *Backend) withPlugins(s Settings) Settings {
	plugins, _ := plugin.Find(nil, b.cfg.Home)
	found := agent{}
	for _, p := range plugins {
		servers, err := p.Servers()
		if err != nil {
			b.cfg.Log.Warn("the MCP servers of a plugin cannot be read", "plugin", p.Name, "dir", p.Dir, "err", err)
		}
		for name, server := range servers {
			if _, taken := found[name]; !taken {
				found[name] = server
			}
		}
	}
	settings := agent{}
	if len(found) == 0 || len(s.Agent) > 0 && json.Unmarshal(s.Agent, &settings) != nil {
		return s // which is told where the settings are read
	}
	all := maps.Clone(serversOf(settings))
	maps.Copy(all, found)
	settings.set("mcp_config", all)
	if data, err := json.Marshal(settings); err == nil {
		s.Agent = data
	}
	return s
}
