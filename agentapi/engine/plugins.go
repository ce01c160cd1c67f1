package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/store"
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
func (b *Backend) addPlugins(ctx context.Context, s *control.Start, from *beginning) error {
	if len(s.Plugins) > maxPlugins {
		return refused(fmt.Sprintf("The request has %d plugins; give at most %d.", len(s.Plugins), maxPlugins), nil)
	}
	var hooks hookfile.Config
	for i, source := range s.Plugins {
		place, err := b.sources(s.ID).Find(ctx, source)
		if err != nil {
			return refused(fmt.Sprintf("plugins[%d] cannot be used: %v.", i, err), nil)
		}
		p, err := plugin.Load(place.Dir)
		if err != nil {
			return refused(fmt.Sprintf("The plugin in %s cannot be used: %v.", place.Dir, err), nil)
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

// sources finds the plugins of a conversation, which keeps their checkouts.
func (b *Backend) sources(id string) plugin.Sources {
	cache := b.checkouts()
	cache.For = store.Path(b.cfg.Dir, id)
	return plugin.Sources{Home: b.cfg.Home, Cache: cache}
}

// checkouts are those of repositories with plugins.
func (b *Backend) checkouts() plugin.Cache {
	cache := plugin.Cache{Path: pathOf(b.cfg.SkillEnv), Now: b.cfg.Now}
	if b.cfg.Base != "" {
		cache.Dir = plugin.CacheIn(b.cfg.Base)
	}
	return cache
}

// dropCheckouts removes the checkouts that only this conversation has used. One that
// stays is removed later.
func (b *Backend) dropCheckouts(ctx context.Context, id string) {
	if err := b.checkouts().Release(context.WithoutCancel(ctx), store.Path(b.cfg.Dir, id)); err != nil {
		b.cfg.Log.Warn("the checkout of a plugin was not removed", "conversation", id, "err", err)
	}
}

// shareCheckouts has a new conversation keep the checkouts of the one that it was made of.
func (b *Backend) shareCheckouts(ctx context.Context, from, id string) {
	if err := b.checkouts().Share(context.WithoutCancel(ctx), store.Path(b.cfg.Dir, from), store.Path(b.cfg.Dir, id)); err != nil {
		b.cfg.Log.Warn("the checkouts of plugins are not kept for a conversation", "conversation", id, "err", err)
	}
}

// pathOf is where an environment has its programs.
func pathOf(environ []string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			return value
		}
	}
	return ""
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
