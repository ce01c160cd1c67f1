package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// tagPluginHooks marks a conversation whose hook_config has hooks of plugins only: the
// user's own hooks stay in force beside them.
const tagPluginHooks = ownTags + "pluginhooks"

// maxPlugins bounds the plugins of a request.
const maxPlugins = 100

// addPlugins gives a new conversation what its plugins have. The request names each of
// them, as it names MCP servers and hooks of its own. What is in a plugin later is not
// looked at again.
func (b *Backend) addPlugins(s *control.Start, from *beginning) error {
	if len(s.Plugins) > maxPlugins {
		return refused(fmt.Sprintf("The request has %d plugins; give at most %d.", len(s.Plugins), maxPlugins), nil)
	}
	var hooks hookfile.Config
	for i, source := range s.Plugins {
		dir, err := b.pluginDir(source)
		if err != nil {
			return refused(fmt.Sprintf("plugins[%d] cannot be used: %v.", i, err), nil)
		}
		p, err := plugin.Load(dir)
		if err != nil {
			return refused(fmt.Sprintf("The plugin in %s cannot be used: %v.", dir, err), nil)
		}
		for _, out := range p.LeftOut {
			b.cfg.Log.Warn("a part of a plugin is not used", "plugin", p.Name, "path", out.Path, "reason", out.Reason)
		}
		if err := from.agent.addPlugin(p); err != nil {
			return err
		}
		hooks = hooks.Merge(p.Hooks)
	}
	if hooks == nil {
		return nil
	}
	given, err := storedHooks(s.Hooks)
	if err != nil {
		return err
	}
	if given != nil {
		first, err := hookfile.Parse(given)
		if err != nil {
			return err
		}
		hooks = first.Merge(hooks)
	} else {
		tags := maps.Clone(from.tags)
		if tags == nil {
			tags = make(map[string]string)
		}
		tags[tagPluginHooks] = "true"
		from.tags = tags
	}
	s.Hooks, err = json.Marshal(hooks)
	return err
}

// pluginDir is the directory of a plugin. Errors do not have the source, which may have a
// password in it.
func (b *Backend) pluginDir(p control.Plugin) (string, error) {
	at := strings.TrimSpace(p.Source)
	if rest, ok := strings.CutPrefix(at, "file://"); ok {
		at = rest
	}
	if rest, ok := strings.CutPrefix(at, "~"); ok && b.cfg.Home != "" && (rest == "" || rest[0] == '/') {
		at = filepath.Join(b.cfg.Home, rest)
	}
	below := filepath.FromSlash(p.Path)
	switch {
	case !filepath.IsAbs(at):
		return "", errors.New("its source is not an absolute path; clone the plugin, and give its directory")
	case p.Ref != "":
		return "", errors.New("ohgw checks out no ref; clone the plugin at this ref, and give its directory without one")
	case below != "" && !filepath.IsLocal(below):
		return "", errors.New("its repo_path leads out of the source; give a path below it")
	case below == "":
		return filepath.Clean(at), nil
	}
	base, dir := resolved(at), resolved(filepath.Join(at, below))
	if rel, err := filepath.Rel(base, dir); err != nil || !filepath.IsLocal(rel) {
		return "", errors.New("its repo_path is a link that leads out of the source; give the directory itself")
	}
	return dir, nil
}

// addPlugin adds the skills and MCP servers of a plugin. As in OpenHands, they take the
// place of others with the same name.
func (a agent) addPlugin(p plugin.Plugin) error {
	if len(p.Skills) > 0 {
		words := a.object("agent_context")
		var before []json.RawMessage
		_ = json.Unmarshal(words["skills"], &before) // no list: none
		list := slices.DeleteFunc(before, func(raw json.RawMessage) bool {
			var has struct{ Name string }
			_ = json.Unmarshal(raw, &has) // no skill: it stays
			return slices.ContainsFunc(p.Skills, func(s skill.Skill) bool { return s.Name == has.Name })
		})
		for _, s := range p.Skills {
			raw, err := skill.Encode(s)
			if err != nil {
				return err
			}
			list = append(list, raw)
		}
		words.set("skills", list)
		a.set("agent_context", words)
	}
	if len(p.Servers) == 0 {
		return nil
	}
	brought := agent{}
	brought.set("mcp_config", p.Servers)
	servers, err := storedServers(brought, inClear)
	if err != nil {
		return fmt.Errorf("MCP servers of the plugin %s: %w", p.Name, err)
	}
	all := agent{}
	maps.Copy(all, serversOf(a))
	maps.Copy(all, servers)
	a.set("mcp_config", all)
	return nil
}
