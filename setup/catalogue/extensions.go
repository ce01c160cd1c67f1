package catalogue

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/extension"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/daemon/openhandsapi/extensions"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/setup"
)

// Extensions gives access to the plugins and skills that are installed, or could be.
func Extensions(env *setup.Env, user skill.User, log *slog.Logger) extensions.Config {
	places := extension.Places{Home: user.Home, Base: user.Base, Path: env.Getenv("PATH"), Now: env.Now}
	bad := func(dir string, err error) { log.Warn("a plugin cannot be used", "directory", dir, "reason", err) }
	return extensions.Config{
		Plugins: extension.Plugins(places), Skills: extension.Skills(places),
		Contents: func(dir string) (openhands.PluginInfo, bool) {
			p, err := plugin.Load(dir)
			if err != nil {
				bad(dir, err)
				return openhands.PluginInfo{}, false
			}
			return infoOf(p), true
		},
		Available: func(project string, own bool) []openhands.PluginInfo { return available(places, project, own, bad) },
		Fetch: func(ctx context.Context, from control.Plugin) (openhands.FetchedPlugin, error) {
			found, err := extension.Fetch(ctx, places, from)
			if wrong, ok := errors.AsType[*plugin.Error](err); ok {
				err = &extensions.FetchError{Code: string(wrong.Code), Msg: wrong.Msg}
			}
			return found, err
		},
	}
}

// available lists the plugins of the user and of a project, which counts where both have
// one.
func available(places extension.Places, project string, own bool, bad func(string, error)) []openhands.PluginInfo {
	var list []plugin.Plugin
	if own {
		list = extension.Own(places, bad)
	}
	if filepath.IsAbs(project) {
		for _, p := range extension.OfProject(project, bad) {
			if i := slices.IndexFunc(list, func(other plugin.Plugin) bool { return other.Name == p.Name }); i >= 0 {
				list[i] = p
			} else {
				list = append(list, p)
			}
		}
	}
	infos := make([]openhands.PluginInfo, len(list))
	for i, p := range list {
		infos[i] = infoOf(p)
	}
	return infos
}

// infoOf is a plugin with what is in it.
func infoOf(p plugin.Plugin) openhands.PluginInfo {
	info := openhands.PluginInfo{
		Name: p.Name, Version: p.Version, Description: p.Description, Path: p.Dir, Skills: []openhands.PluginSkill{}, Files: extension.Files(p.Dir),
	}
	for _, s := range p.Skills {
		shown := openhands.PluginSkill{Name: s.Name}
		if s.Description != "" {
			shown.Description = &s.Description
		}
		info.Skills = append(info.Skills, shown)
	}
	return info
}
