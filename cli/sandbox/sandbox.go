// Package sandbox has the commands that show the sandbox, run a program in it and
// try to break out of it.
package sandbox

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

// New makes the command "sandbox".
func New(a *kit.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox COMMAND",
		Short: "Run commands in the sandbox",
		Long: `Runs commands in a sandbox. In it a command can write to its workspace, to a home
directory of the sandbox, and to /tmp. It sees neither your home directory nor
the processes and sockets outside.`,
		Example: kit.Examples("ohgw sandbox run -- make test", "ohgw sandbox run -- bash"),
		Args:    kit.UnknownCommand,
		RunE:    kit.ShowHelp,
	}
	cmd.AddCommand(newRun(a))
	return cmd
}

// plan is the policy for the workspace, and the environment that goes with it.
func plan(a *kit.App, workspace string) (policy.Policy, []string, error) {
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return policy.Policy{}, nil, err
	}
	environ := a.Environ()
	p, err := boxes.Plan(boxes.User{
		Home: dirs.Home, State: dirs.State, Environ: environ,
		Private: []string{dirs.Config, dirs.Runtime, filepath.Join(dirs.Home, ".openhands")},
	}, workspace)
	if err != nil {
		return p, nil, fault.New("the sandbox cannot be set up", "go to the directory of one project: cd DIRECTORY", err)
	}
	return p, boxes.Environ(environ, &p), nil
}
