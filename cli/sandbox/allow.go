package sandbox

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
)

func newAllow(a *kit.App) *cobra.Command {
	opts := allowOptions{App: a}
	cmd := &cobra.Command{
		Use:   "allow write|read|net|socket TARGET",
		Short: "Allow a host, path or socket",
		Long: kit.Long(`
Allows agents in the sandbox one more thing:

  write PATH     a directory or file that they may change
  read PATH      a directory or file that is shown, also in the home directory
  net HOST       a name, *.NAME for the names below it, or NAME:PORT; without a
                 port, 80 and 443 are meant
  socket NAME    ssh-agent, gpg-agent, docker, or the path of a Unix socket

It is allowed everywhere; with --workspace only in the current directory, with
--workspace=DIR only in that one, and with --conversation only there. A running
agent can use a host at once. ohgw sandbox grants lists what is allowed, and
ohgw sandbox revoke takes it back.

The whole file system, your home directory, directories of ohgw and OpenHands,
addresses of this machine and of private networks, and system directories for
writing cannot be allowed.

With --json the output has the grant (access, target, workspace, conversation,
created, old, gone) and added, which is false if it was allowed already.`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw sandbox allow net api.example.com", "ohgw sandbox allow read ~/notes --workspace", "ohgw sandbox allow write ../library --workspace"),
		Args:              twoWords,
		ValidArgsFunction: completeAllow,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Words = args
			return runAllow(cmd.Context(), &opts)
		},
	}
	opts.Scope.addTo(cmd, "allow it")
	return cmd
}

// completeAllow offers the accesses, then files or the names of sockets.
func completeAllow(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(args) == 0:
		return accesses, cobra.ShellCompDirectiveNoFileComp
	case len(args) > 1 || args[0] == string(sandbox.Network):
		return nil, cobra.ShellCompDirectiveNoFileComp
	case args[0] == string(sandbox.Socket):
		return grants.Sockets(), cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// allowOptions is what the command takes.
type allowOptions struct {
	*kit.App

	Words []string
	Scope scope
}

// runAllow runs the command.
func runAllow(ctx context.Context, o *allowOptions) error {
	s, err := store(o.App)
	if err != nil {
		return err
	}
	wanted, err := named(ctx, o.App, s, o.Words, o.Scope)
	if err != nil {
		return err
	}
	g, added, err := s.Add(ctx, wanted)
	if err != nil {
		return grantFault(err)
	}
	if g.Access == sandbox.Socket && (g.Target == "docker" || strings.HasSuffix(g.Target, "/docker.sock")) {
		o.Note("warning: with Docker an agent can do everything on this machine: the sandbox does not protect it")
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"grant": describe(o.App, g), "added": added})
	}
	if added {
		o.Note("Allowed: %s %s (%s).", g.Access, g.Target, g.Scope())
	} else {
		o.Note("It was allowed already: %s %s (%s).", g.Access, g.Target, g.Scope())
	}
	return nil
}
