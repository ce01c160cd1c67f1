package engine

import (
	"context"
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
func (b *Backend) addPlugins(ctx context.Context, s *control.Start, from *beginning) error {
	if len(s.Plugins) > maxPlugins {
		return refused(fmt.Sprintf("The request has %d plugins; give at most %d.", len(s.Plugins), maxPlugins), nil)
	}
	var hooks hookfile.Config
	for i, source := range s.Plugins {
		dir, err := b.pluginDir(ctx, source)
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

// pluginDir is the directory of a plugin. A file URL of a repository and a path with a ref
// are checked out; a path without one is used as it is. Errors do not have the source,
// which may have a password in it.
func (b *Backend) pluginDir(ctx context.Context, p control.Plugin) (string, error) {
	at, isURL := strings.CutPrefix(strings.TrimSpace(p.Source), "file://")
	if rest, ok := strings.CutPrefix(at, "~"); ok && b.cfg.Home != "" && (rest == "" || rest[0] == '/') {
		at = filepath.Join(b.cfg.Home, rest)
	}
	below := filepath.FromSlash(p.Path)
	switch {
	case !filepath.IsAbs(at):
		return "", errors.New("its source is not an absolute path; clone the plugin, and give its directory")
	case below != "" && !filepath.IsLocal(below):
		return "", errors.New("its repo_path leads out of the source; give a path below it")
	}
	at = filepath.Clean(at)
	if isRepository := plugin.IsRepository(at); p.Ref != "" || isURL && isRepository {
		var err error
		if at, err = b.checkout(ctx, at, p.Ref, isRepository); err != nil {
			return "", err
		}
	}
	if below == "" {
		return at, nil
	}
	base, dir := resolved(at), resolved(filepath.Join(at, below))
	if rel, err := filepath.Rel(base, dir); err != nil || !filepath.IsLocal(rel) {
		return "", errors.New("its repo_path is a link that leads out of the source; give the directory itself")
	}
	return dir, nil
}

// checkout is the directory with the files of a ref of a repository.
func (b *Backend) checkout(ctx context.Context, dir, ref string, isRepository bool) (string, error) {
	switch {
	case !isRepository:
		return "", errors.New("it has a ref, and its source is not a git repository; give the directory of a repository, or no ref")
	case b.cfg.Base == "":
		return "", errors.New("there is no directory to check it out to; give its directory without a ref")
	}
	return plugin.Checkout(ctx, dir, ref, filepath.Join(b.cfg.Base, "cache", "plugins"), pathOf(b.cfg.SkillEnv))
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
