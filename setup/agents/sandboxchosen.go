package agents

import (
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/setup"
)

// SandboxSettings are the settings of the sandbox for agents in a workspace, which
// has no symbolic links. Every error is a [fault.Error] that names the setting.
func SandboxSettings(env *setup.Env, s *config.Settings, workspace string) (manager.Settings, error) {
	all, err := sandboxSettings(env, s)
	if err != nil {
		return all, err
	}
	return all.Of(workspace), nil
}
