package sandboxes

import (
	"maps"
	"slices"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/setup"
)

// Settings are the settings of the sandbox for agents in a workspace, which has no
// symbolic links. Every error is a [fault.Error] that names the setting.
func Settings(env *setup.Env, s *config.Settings, workspace string) (manager.Settings, error) {
	all, err := sandboxSettings(env, s)
	if err != nil {
		return all, err
	}
	return all.Of(workspace), nil
}

// sandboxSettings converts the user's settings of the sandbox for the manager: with
// paths that exist, and without what would end the protection by mistake. Every error
// is a [fault.Error] that names the setting.
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
		at, err := r.place(tableOf(name)+" in "+s.File, name, "")
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
		key    string
		texts  []string
		to     *[]string
		access sandbox.Access
	}{
		{"sandbox.files.write", c.Write, &m.Write, sandbox.Write},
		{"sandbox.files.read", c.Read, &m.Read, sandbox.Read},
		{"sandbox.files.hide", c.Hide, &m.Hide, ""},
		{"sandbox.files.protect", c.Protect, &m.Protect, ""},
		{"sandbox.sockets.allow", c.Sockets, &m.Sockets, sandbox.Socket},
	} {
		var err error
		if *list.to, err = r.places(workspace, list.key, list.texts, list.access); err != nil {
			return manager.Settings{}, err
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
