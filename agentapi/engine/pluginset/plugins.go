// Package pluginset gives conversations their plugins: it finds those of a request, of
// marketplaces and of the user, adds what they have to a stored agent, and keeps the checkouts
// that they need. What is in the directory of a plugin is the task of package plugin.
package pluginset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/extension"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/engine/vault"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// Config is what the plugins of conversations are made of. Home, Base and Path may be
// empty.
type Config struct {
	Dir        string // of all conversations
	Home, Base string // of the user, and OpenHands' directory of the user
	Path       string // where programs are
	// Seal encrypts the secrets of a plugin's MCP servers; nil: they are not stored.
	Seal  func(value string) (string, error)
	Vault *vault.Vault
	Now   func() time.Time
	Log   *slog.Logger
}

// Set loads the plugins of conversations, and keeps their checkouts.
type Set struct{ cfg Config }

// New makes a set.
func New(cfg Config) *Set { return &Set{cfg} }

// maxPlugins bounds the plugins of a request.
const maxPlugins = 100

// Add gives a new conversation what its plugins have: those that the request names,
// as it names MCP servers and hooks of its own, and then those of the user. What is in a
// plugin later is not looked at again. It returns tags for the conversation.
func (l *Set) Add(ctx context.Context, s *control.Start, a storedagent.Agent) (tags map[string]string, err error) {
	loaded, err := l.requestedPlugins(ctx, *s)
	if err != nil {
		return nil, err
	}
	if loaded, err = l.autoLoaded(ctx, s.ID, a, loaded); err != nil {
		return nil, err
	}
	for _, p := range loaded {
		if err := a.AddPlugin(p, storedagent.InClear); err != nil {
			return nil, err
		}
	}
	for _, p := range l.ownPlugins(loaded) {
		if err := a.AddPlugin(p, storedagent.InClear); err != nil {
			l.cfg.Log.Warn("an installed plugin is not used", "plugin", p.Name, "directory", p.Dir, "reason", agentapi.PublicMessage(err, "its parts cannot be read"))
			continue
		}
		loaded = append(loaded, p)
	}
	var hooks hookfile.Config
	for _, p := range loaded {
		for _, out := range p.LeftOut {
			l.cfg.Log.Warn("a part of a plugin is not used", "plugin", p.Name, "path", out.Path, "reason", out.Reason)
		}
		hooks = hooks.Merge(p.Hooks)
	}
	if err := errors.Join(addAgents(s, loaded), noteDirs(s, loaded)); err != nil {
		return nil, err
	}
	return addHooks(s, hooks)
}

// requestedPlugins loads those that a request names.
func (l *Set) requestedPlugins(ctx context.Context, s control.Start) (loaded []plugin.Plugin, err error) {
	if len(s.Plugins) > maxPlugins {
		return nil, apierr.Refused(fmt.Sprintf("The request has %d plugins; give at most %d.", len(s.Plugins), maxPlugins), nil)
	}
	for i, source := range s.Plugins {
		place, err := l.sources(s.ID).Find(ctx, source)
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
func (l *Set) ownPlugins(named []plugin.Plugin) []plugin.Plugin {
	if l.cfg.Base == "" {
		return nil
	}
	own := extension.Own(l.places(), func(dir string, err error) {
		l.cfg.Log.Warn("an installed plugin is not used", "directory", dir, "reason", err)
	})
	return without(own, named)
}

// without are the plugins that have not the name of one of the others.
func without(list, others []plugin.Plugin) []plugin.Plugin {
	return slices.DeleteFunc(list, func(p plugin.Plugin) bool { return plugin.Named(others, p.Name) })
}

// autoLoaded loads the plugins that the agent's marketplaces give to each conversation, and
// puts those that are given behind them. The skills of the marketplaces are added to the agent
// where it has none of that name. What cannot be used keeps no conversation from its start:
// most lists name repositories of the network, too.
func (l *Set) autoLoaded(ctx context.Context, id string, a storedagent.Agent, loaded []plugin.Plugin) ([]plugin.Plugin, error) {
	list, err := a.Marketplaces()
	if err != nil || len(list) == 0 {
		return loaded, err
	}
	auto, err := l.sources(id).AutoLoad(ctx, list, func(marketplace, name string, err error) {
		l.cfg.Log.Warn("a part of a marketplace is not used", "conversation", id, "marketplace", marketplace, "name", name, "reason", err)
	})
	if err != nil {
		return nil, apierr.Refused(err.Error(), nil)
	}
	var given []storedagent.Named
	_ = json.Unmarshal(a.Object("agent_context")["skills"], &given) // no list: none
	missing := slices.DeleteFunc(auto.Skills, func(s skill.Skill) bool { return slices.Contains(given, storedagent.Named{Name: s.Name}) })
	return append(without(auto.Plugins, loaded), loaded...), a.AddSkills(missing)
}

// addHooks gives a conversation the hooks of its plugins behind its own. It returns the tag
// that marks one without hooks of its own.
func addHooks(s *control.Start, hooks hookfile.Config) (tags map[string]string, err error) {
	if hooks == nil {
		return nil, nil
	}
	given, err := hook.Stored(s.Hooks)
	if err != nil {
		return nil, err
	}
	if given == nil {
		tags = map[string]string{tag.PluginHooks: "true"}
	} else {
		first, err := hookfile.Parse(given)
		if err != nil {
			return nil, err
		}
		hooks = first.Merge(hooks)
	}
	s.Hooks, err = json.Marshal(hooks)
	return tags, err
}

// sources finds the plugins of a conversation, which keeps their checkouts.
func (l *Set) sources(id string) plugin.Sources {
	cache := l.places().Checkouts()
	cache.For = store.Path(l.cfg.Dir, id)
	return plugin.Sources{Home: l.cfg.Home, Cache: cache}
}

// places are where the user's plugins and the checkouts of others are.
func (l *Set) places() extension.Places {
	return extension.Places{Home: l.cfg.Home, Base: l.cfg.Base, Path: l.cfg.Path, Now: l.cfg.Now}
}

// DropCheckouts removes the checkouts that only this conversation has used. One that
// stays is removed later.
func (l *Set) DropCheckouts(ctx context.Context, id string) {
	if err := l.places().Checkouts().Release(context.WithoutCancel(ctx), store.Path(l.cfg.Dir, id)); err != nil {
		l.cfg.Log.Warn("the checkout of a plugin was not removed", "conversation", id, "err", err)
	}
}

// ShareCheckouts has a new conversation keep the checkouts of the one that it was made of.
func (l *Set) ShareCheckouts(ctx context.Context, from, id string) {
	if err := l.places().Checkouts().Share(context.WithoutCancel(ctx), store.Path(l.cfg.Dir, from), store.Path(l.cfg.Dir, id)); err != nil {
		l.cfg.Log.Warn("the checkouts of plugins are not kept for a conversation", "conversation", id, "err", err)
	}
}
