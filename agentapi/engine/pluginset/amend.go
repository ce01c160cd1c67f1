package pluginset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/engine/vault"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// Find finds a plugin in the marketplaces that an agent has.
func (l *Set) Find(ctx context.Context, id string, state store.State, ref string) (plugin.Plugin, error) {
	stored := storedagent.Agent{}
	if err := json.Unmarshal(state.Agent, &stored); err != nil {
		return plugin.Plugin{}, &store.DamageError{File: "base_state.json", Err: err}
	}
	list, err := stored.Marketplaces()
	if err != nil {
		return plugin.Plugin{}, err
	}
	if len(list) == 0 {
		return plugin.Plugin{}, apierr.Refused("The conversation has no marketplaces; name them in registered_marketplaces of the agent's context when you start a conversation.", nil)
	}
	sources := l.sources(id)
	from, err := sources.Resolve(ctx, list, ref)
	if missing, ok := errors.AsType[*plugin.ResolveError](err); ok && missing.Missing {
		return plugin.Plugin{}, &agentapi.Error{Kind: control.ErrNoPlugin, Msg: missing.Msg}
	}
	if err != nil {
		return plugin.Plugin{}, apierr.Refused(err.Error(), nil)
	}
	place, err := sources.Find(ctx, from)
	if err != nil {
		return plugin.Plugin{}, apierr.Refused(fmt.Sprintf("The plugin %s cannot be used: %v.", ref, err), nil)
	}
	p, err := plugin.Load(place.Dir)
	if err != nil {
		return plugin.Plugin{}, apierr.Refused(fmt.Sprintf("The plugin %s cannot be used: %v.", ref, err), nil)
	}
	for _, out := range p.LeftOut {
		l.cfg.Log.Warn("a part of a plugin is not used", "plugin", p.Name, "path", out.Path, "reason", out.Reason)
	}
	return p, nil
}

// Amend adds a plugin to what is stored of a conversation.
func (l *Set) Amend(d *store.Dir, p plugin.Plugin) error {
	stored := storedagent.Agent{}
	if err := json.Unmarshal(d.State.Agent, &stored); err != nil {
		return &store.DamageError{File: "base_state.json", Err: err}
	}
	if l.cfg.Seal == nil {
		if err := l.keepClear(d.State.ID, stored, p); err != nil {
			return err
		}
	}
	if err := stored.AddPlugin(p, l.cfg.Seal); err != nil {
		return err
	}
	var err error
	if d.State.Agent, err = json.Marshal(stored); err != nil {
		return err
	}
	if err := amendHooks(&d.State, p.Hooks); err != nil {
		return err
	}
	if err := errors.Join(amendAgents(d, p), amendDirs(d, p)); err != nil {
		return err
	}
	return errors.Join(d.SaveState(true), d.Touch(l.cfg.Now(), ""))
}

// amendAgents keeps the agents of a plugin with a conversation.
func amendAgents(d *store.Dir, p plugin.Plugin) error {
	added, err := encodedAgents(p)
	if err != nil || len(added) == 0 {
		return err
	}
	list, err := appended(d.Meta()[AgentsMember], added)
	if err != nil {
		return err
	}
	return d.Note(AgentsMember, list)
}

// keepClear keeps an agent with a plugin whose secrets are not stored.
func (l *Set) keepClear(id string, stored storedagent.Agent, p plugin.Plugin) error {
	plain, _ := l.cfg.Vault.PlainAgent(id, maps.Clone(stored))
	plain = maps.Clone(plain)
	if err := plain.AddPlugin(p, storedagent.InClear); err != nil {
		return err
	}
	kept, err := json.Marshal(plain)
	if err == nil {
		l.cfg.Vault.Keep(id, vault.Clear{Agent: kept})
	}
	return err
}

// amendHooks puts the hooks of a plugin behind those of a conversation. A conversation
// without hooks of its own keeps those of the user, too.
func amendHooks(state *store.State, hooks hookfile.Config) error {
	if hooks == nil {
		return nil
	}
	var given hookfile.Config
	if len(state.HookConfig) > 0 {
		var err error
		if given, err = hookfile.Parse(state.HookConfig); err != nil {
			return err
		}
	}
	if given == nil || state.Tags[tag.AgentHooks] != "" {
		state.Tags = maps.Clone(state.Tags)
		if state.Tags == nil {
			state.Tags = make(map[string]string)
		}
		state.Tags[tag.PluginHooks] = "true"
	}
	merged, err := json.Marshal(given.Merge(hooks))
	state.HookConfig = merged
	return err
}
