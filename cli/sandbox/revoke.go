package sandbox

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/internal/suggest"
)

func newRevoke(a *kit.App) *cobra.Command {
	opts := revokeOptions{App: a}
	cmd := &cobra.Command{
		Use:   "revoke write|read|net|socket TARGET",
		Short: "Take back what was allowed",
		Long: kit.Long(`
Takes back what ohgw sandbox allow has allowed, by the same words. Without
--workspace and --conversation it is taken back wherever it was allowed. --all
takes back everything, also if the stored grants cannot be read.

A host is out of reach for the next connection; connections that are open stay.
With --json, revoked is the list of grants that were taken back.`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw sandbox revoke net api.example.com", "ohgw sandbox revoke --all"),
		Args:              opts.args,
		ValidArgsFunction: completeRevoke(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Words = args
			return runRevoke(cmd.Context(), &opts)
		},
	}
	opts.Scope.addTo(cmd, "take it back")
	cmd.Flags().BoolVar(&opts.All, "all", false, "take back everything that was allowed")
	return cmd
}

// revokeOptions is what the command takes.
type revokeOptions struct {
	*kit.App

	Words []string
	Scope scope
	All   bool
}

// args wants an access and a target, or --all.
func (o *revokeOptions) args(cmd *cobra.Command, args []string) error {
	if o.All && o.Scope != (scope{}) {
		return fault.NewUsage("--all takes back everything, in every workspace and conversation", "remove --all, or the other flag")
	}
	if o.All {
		return kit.None()(cmd, args)
	}
	return twoWords(cmd, args)
}

// completeRevoke offers what is allowed.
func completeRevoke(a *kit.App) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return accesses, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := store(a)
		if err != nil || len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, _ := s.List() // Without it nothing is offered.
		return targets(list, sandbox.Access(args[0])), cobra.ShellCompDirectiveNoFileComp
	}
}

// targets are what is granted of one kind, also if it is gone.
func targets(list []grants.Grant, access sandbox.Access) []string {
	var found []string
	for _, g := range list {
		if g.Access == access {
			found = append(found, g.Target)
		}
	}
	return found
}

// runRevoke runs the command.
func runRevoke(ctx context.Context, o *revokeOptions) error {
	s, err := store(o.App)
	if err != nil {
		return err
	}
	removed, err := revoke(ctx, o, s)
	if err != nil {
		return grantFault(err)
	}
	if o.JSON {
		list := make([]grantJSON, 0, len(removed))
		for _, g := range removed {
			list = append(list, describe(o.App, g))
		}
		return o.PrintJSON(map[string]any{"revoked": list})
	}
	for _, g := range removed {
		o.Note("Revoked: %s %s (%s).", g.Access, g.Target, g.Scope())
	}
	if o.All && len(removed) == 0 {
		o.Note("Nothing is allowed beyond the settings.")
	}
	return nil
}

func revoke(ctx context.Context, o *revokeOptions, s *grants.Store) ([]grants.Grant, error) {
	if o.All {
		list, _ := s.List() // A file that cannot be read is removed, too.
		return list, s.Clear(ctx)
	}
	wanted, err := named(ctx, o.App, s, o.Words, o.Scope)
	if err != nil {
		return nil, err
	}
	wanted = spelled(s, wanted)
	everywhere := wanted.Workspace == "" && wanted.Conversation == ""
	removed, err := s.Remove(ctx, func(g grants.Grant) bool {
		if everywhere {
			return g.Access == wanted.Access && g.Target == wanted.Target
		}
		return g.Same(wanted)
	})
	if err == nil && len(removed) == 0 {
		err = missing(s, wanted)
	}
	return removed, err
}

// missing says that something is not allowed, with what it was meant to be.
func missing(s *grants.Store, wanted grants.Grant) error {
	list, _ := s.List() // It was read just now.
	hint := "see what is allowed: ohgw sandbox grants"
	of := targets(list, wanted.Access)
	if near := suggest.Nearest(wanted.Target, of); near != "" && near != wanted.Target {
		hint = strings.Join([]string{"did you mean ohgw sandbox revoke", string(wanted.Access), near + "?"}, " ")
	}
	return fault.New(string(wanted.Access)+" "+wanted.Target+" is not a grant ("+wanted.Scope()+")", hint, nil)
}
