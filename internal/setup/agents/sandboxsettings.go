package agents

import (
	"maps"
	"slices"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/setup"
)

// sandboxSettings are the user's settings of the sandbox as the manager takes them:
// with paths that exist, and without what would end the protection by mistake. Every
// error is a [fault.Error] that names the setting.
func sandboxSettings(env *setup.Env, s *config.Settings) (manager.Settings, error) {
	r, err := newSandboxReader(env, s)
	if err != nil {
		return manager.Settings{}, err
	}
	all, err := r.read(s.Sandbox, "")
	if err != nil {
		return manager.Settings{}, err
	}
	if err := r.checkNetwork(s.Sandbox, config.Sandbox{}, ""); err != nil {
		return manager.Settings{}, err
	}
	written := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Workspaces)) {
		at, err := r.workspace(name)
		if err != nil {
			return manager.Settings{}, err
		}
		if other, twice := written[at]; twice {
			return manager.Settings{}, invalidSandbox(tableOf(name)+" and "+tableOf(other)+" are the same directory", "write one table for it")
		}
		written[at] = name
		one := s.Workspaces[name]
		read, err := r.read(one, name)
		if err == nil {
			err = r.checkWorkspace(s.Sandbox, one, name)
		}
		if err != nil {
			return manager.Settings{}, err
		}
		if all.For == nil {
			all.For = map[string]manager.Settings{}
		}
		all.For[at] = read
	}
	return all, nil
}

// read takes one table of settings: that of a workspace, or the general one if
// workspace is empty.
func (r *sandboxReader) read(c config.Sandbox, workspace string) (manager.Settings, error) {
	m := manager.Settings{
		Mode: manager.Mode(c.Mode), Minimum: sandbox.Level(c.Minimum), OnBlock: manager.Reaction(c.OnBlock),
		GitOpen: c.Git == "open", Strict: c.Strict,
		Network: manager.NetworkMode(c.Network), Allow: c.Allow, Deny: c.Deny, Local: c.Local,
		Pass: c.Pass, Processes: c.Processes,
	}
	for _, list := range []struct {
		key   string
		paths []string
		to    *[]string
		check func(place) error
	}{
		{"sandbox.files.write", c.Write, &m.Write, r.writable},
		{"sandbox.files.read", c.Read, &m.Read, r.readable},
		{"sandbox.files.hide", c.Hide, &m.Hide, r.any},
		{"sandbox.files.protect", c.Protect, &m.Protect, r.any},
		{"sandbox.sockets.allow", c.Sockets, &m.Sockets, r.socket},
	} {
		for _, item := range list.paths {
			if slices.Contains(namedSockets, item) && list.key == "sandbox.sockets.allow" {
				*list.to = append(*list.to, item)
				continue
			}
			name := r.name(workspace, list.key, item)
			at, err := r.place(name, item)
			if err == nil {
				err = list.check(place{setting: name, text: item, path: at})
			}
			if err != nil {
				return manager.Settings{}, err
			}
			if !slices.Contains(*list.to, at) {
				*list.to = append(*list.to, at)
			}
		}
	}
	return m, nil
}

// checkWorkspace reports what the settings of one workspace, beside the general
// ones, cannot say.
func (r *sandboxReader) checkWorkspace(all, one config.Sandbox, workspace string) error {
	if one.Git == "guarded" && all.Git == "open" {
		return invalidSandbox(r.name(workspace, "sandbox.git", "")+` is "guarded", and sandbox.git is "open"`,
			`set sandbox.git = "guarded", and "open" for single workspaces`)
	}
	return r.checkNetwork(all, one, workspace)
}

func invalidSandbox(msg, hint string) error {
	return &fault.Error{Msg: "invalid setting: " + msg, Hint: hint, Code: fault.Usage}
}
