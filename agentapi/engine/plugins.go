package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/extension"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// tagPluginHooks marks a conversation whose hook_config has hooks of plugins only: the
// user's own hooks stay in force beside them.
const tagPluginHooks = ownTags + "pluginhooks"

// maxPlugins bounds the plugins of a request.
const maxPlugins = 100

// addPlugins gives a new conversation what its plugins have: those that the request names,
// as it names MCP servers and hooks of its own, and then those of the user. What is in a
// plugin later is not looked at again.
func (b *Backend) addPlugins(ctx context.Context, s *control.Start, from *beginning) error {
	loaded, err := b.requestedPlugins(ctx, *s)
	if err != nil {
		return err
	}
	if loaded, err = b.autoLoaded(ctx, s.ID, from.agent, loaded); err != nil {
		return err
	}
	for _, p := range loaded {
		if err := from.agent.AddPlugin(p, storedagent.InClear); err != nil {
			return err
		}
	}
	for _, p := range b.ownPlugins(loaded) {
		if err := from.agent.AddPlugin(p, storedagent.InClear); err != nil {
			b.cfg.Log.Warn("an installed plugin is not used", "plugin", p.Name, "directory", p.Dir, "reason", agentapi.PublicMessage(err, "its parts cannot be read"))
			continue
		}
		loaded = append(loaded, p)
	}
	var hooks hookfile.Config
	for _, p := range loaded {
		for _, out := range p.LeftOut {
			b.cfg.Log.Warn("a part of a plugin is not used", "plugin", p.Name, "path", out.Path, "reason", out.Reason)
		}
		hooks = hooks.Merge(p.Hooks)
	}
	if err := errors.Join(addAgents(s, loaded), noteDirs(s, loaded)); err != nil {
		return err
	}
	return addHooks(s, from, hooks)
}

// requestedPlugins are those that a request names.
func (b *Backend) requestedPlugins(ctx context.Context, s control.Start) (loaded []plugin.Plugin, err error) {
	if len(s.Plugins) > maxPlugins {
		return nil, apierr.Refused(fmt.Sprintf("The request has %d plugins; give at most %d.", len(s.Plugins), maxPlugins), nil)
	}
	for i, source := range s.Plugins {
		place, err := b.sources(s.ID).Find(ctx, source)
		if err != nil {
			return nil, apierr.Refused(fmt.Sprintf("plugins[%d] cannot be used: %v.", i, err), nil)
		}
		p, err := plugin.Load(place.Dir)
		if err != nil {
			return nil, apierr.Refused(fmt.Sprintf("The plugin in %s cannot be used: %v.", place.Dir, err), nil)
		}
		loaded = append(loaded, p)
	}
	return loaded, nil
}

// ownPlugins are those of the user, but for what the request has named.
func (b *Backend) ownPlugins(named []plugin.Plugin) []plugin.Plugin {
	if b.cfg.Base == "" {
		return nil
	}
	own := extension.Own(b.places(), func(dir string, err error) {
		b.cfg.Log.Warn("an installed plugin is not used", "directory", dir, "reason", err)
	})
	return without(own, named)
}

// without are the plugins that have not the name of one of the others.
func without(list, others []plugin.Plugin) []plugin.Plugin {
	return slices.DeleteFunc(list, func(p plugin.Plugin) bool { return plugin.Named(others, p.Name) })
}

// autoLoaded are the plugins that the agent's marketplaces give to each conversation, and
// then those that are given. The skills of the marketplaces are added to the agent where it
// has none of that name. What cannot be used keeps no conversation from its start: most
// lists name repositories of the network, too.
func (b *Backend) autoLoaded(ctx context.Context, id string, a storedagent.Agent, loaded []plugin.Plugin) ([]plugin.Plugin, error) {
	list, err := a.Marketplaces()
	if err != nil || len(list) == 0 {
		return loaded, err
	}
	auto, err := b.sources(id).AutoLoad(ctx, list, func(marketplace, name string, err error) {
		b.cfg.Log.Warn("a part of a marketplace is not used", "conversation", id, "marketplace", marketplace, "name", name, "reason", err)
	})
	if err != nil {
		return nil, apierr.Refused(err.Error(), nil)
	}
	var given []storedagent.Named
	_ = json.Unmarshal(a.Object("agent_context")["skills"], &given) // no list: none
	missing := slices.DeleteFunc(auto.Skills, func(s skill.Skill) bool { return slices.Contains(given, storedagent.Named{Name: s.Name}) })
	return append(without(auto.Plugins, loaded), loaded...), a.AddSkills(missing)
}

// addHooks gives a conversation the hooks of its plugins behind its own.
func addHooks(s *control.Start, from *beginning, hooks hookfile.Config) error {
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
	cache := b.places().Checkouts()
	cache.For = store.Path(b.cfg.Dir, id)
	return plugin.Sources{Home: b.cfg.Home, Cache: cache}
}

// places are where the user's plugins and the checkouts of others are.
func (b *Backend) places() extension.Places {
	return extension.Places{Home: b.cfg.Home, Base: b.cfg.Base, Path: pathOf(b.cfg.SkillEnv), Now: b.cfg.Now}
}

// dropCheckouts removes the checkouts that only this conversation has used. One that
// stays is removed later.
func (b *Backend) dropCheckouts(ctx context.Context, id string) {
	if err := b.places().Checkouts().Release(context.WithoutCancel(ctx), store.Path(b.cfg.Dir, id)); err != nil {
		b.cfg.Log.Warn("the checkout of a plugin was not removed", "conversation", id, "err", err)
	}
}

// shareCheckouts has a new conversation keep the checkouts of the one that it was made of.
func (b *Backend) shareCheckouts(ctx context.Context, from, id string) {
	if err := b.places().Checkouts().Share(context.WithoutCancel(ctx), store.Path(b.cfg.Dir, from), store.Path(b.cfg.Dir, id)); err != nil {
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
