// Package sandbox has the commands that show the sandbox, run a program in it, try to
// break out of it, and say what agents may do beyond the settings.
package sandbox

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/gitconfig"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

// New makes the command "sandbox".
func New(a *kit.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox COMMAND",
		Short: "Show, use and test the sandbox",
		Long: `Shows which sandbox this machine can have, runs a command in it, tries to break
out of it, and allows single hosts, paths and sockets. In the sandbox a command
can write to its workspace, to a home directory of the sandbox, and to /tmp. It
sees neither your home directory nor the processes and sockets outside.`,
		Example: kit.Examples("ohgw sandbox status", "ohgw sandbox run -- make test", "ohgw sandbox allow net api.example.com"),
		Args:    kit.UnknownCommand,
		RunE:    kit.ShowHelp,
	}
	cmd.AddCommand(newAllow(a), newDiff(a), newExplain(a), newGrants(a), newReset(a), newRevoke(a), newRun(a), newStatus(a), newTest(a))
	return cmd
}

// plan makes the policy for the workspace, and the environment that goes with it.
func plan(ctx context.Context, a *kit.App, workspace string) (policy.Policy, []string, error) {
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return policy.Policy{}, nil, err
	}
	u, err := user(a, dirs)
	if err != nil {
		return policy.Policy{}, nil, err
	}
	u.GitConfig = gitconfig.Of(ctx, u.Home, u.Environ)
	p, err := boxes.Plan(u, workspace)
	if err != nil {
		return p, nil, fault.New("the sandbox cannot be set up", "go to the directory of one project: cd DIRECTORY", err)
	}
	return p, boxes.Environ(u.Environ, &p), nil
}

// user is whose files the sandbox keeps away.
func user(a *kit.App, dirs paths.Set) (boxes.User, error) {
	places, err := a.Setup().Places()
	if err != nil {
		return boxes.User{}, err
	}
	return boxes.User{
		Home: dirs.Home, State: dirs.State, Environ: a.Environ(),
		Private: append(places.Private(), dirs.Config, dirs.Runtime),
	}, nil
}

// unavailable says that there is no sandbox on this machine, and why.
func unavailable(r probe.Result) error {
	return &fault.Error{
		Msg: "there is no sandbox on this machine: " + r.Reason, Code: fault.Refused,
		Hint: r.Fix + "; or use an agent-server in a container: ohgw serve --agent-server URL; or run the command without a sandbox",
	}
}
