package serving

import (
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/loopback"
	"github.com/ohgw/ohgw/setup"
)

// CheckSettings refuses settings of a daemon that are wrong together, or on this
// machine, and warns of those that other machines would feel.
func CheckSettings(env *setup.Env, s *config.Settings) error {
	if !loopback.Address(s.Addr) {
		if s.NoAuth {
			open := daemon.NeedsKeys(s.Addr)
			return fault.NewUsage(open.Msg, open.Hint+" ("+s.Origin("no_auth").String()+", "+s.Origin("addr").String()+")")
		}
		WarnReachable(env, s.Addr)
		if len(s.AllowHosts) == 0 {
			env.Note("warning: clients on other machines are refused; allow the host name or address that they use with --allow-host")
		}
	}
	if s.Workspace == "" {
		return nil
	}
	if filepath.Clean(s.Workspace) == filepath.Dir(s.Workspace) {
		return fault.NewUsage("the workspace "+s.Workspace+" contains every file of this machine",
			"choose a directory for the agents' work ("+s.Origin("workspace").String()+")")
	}
	info, err := os.Stat(s.Workspace)
	if err == nil && !info.IsDir() {
		return fault.NewUsage("the workspace "+s.Workspace+" is not a directory", "choose a directory ("+s.Origin("workspace").String()+")")
	}
	return nil
}
