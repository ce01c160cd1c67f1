package conversations

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup/cloud"
)

func newChanges(p *place) *cobra.Command {
	opts := oneOptions{place: p}
	return &cobra.Command{
		Use:   "changes ID",
		Short: "List the files changed on OpenHands Cloud",
		Long: kit.Long(`
Lists the files that a conversation on a server has changed in its repository,
also those that it has committed and not pushed. The conversation has to be
awake.

In a pipe, each file is one line: the change, a tab, the name. With --json,
changes is a list of objects with path and status (added, modified, deleted,
renamed, conflict), and note says what a list cannot.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example: kit.Examples("ohgw conversations changes 7f1c", "ohgw conversations changes 7f1c --json"),
		Args:    kit.Exactly("the id"), ValidArgsFunction: kit.CompleteOn(p.account),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID = args[0]
			return runChanges(cmd.Context(), &opts)
		},
	}
}

// runChanges runs the command.
func runChanges(ctx context.Context, o *oneOptions) error {
	acc, conv, err := o.find(ctx)
	if err != nil {
		return err
	}
	defer acc.Close()
	changes, note, err := acc.Changes(ctx, conv.ID)
	if err != nil {
		return cloud.Fault(err, acc.Server)
	}
	if !o.JSON {
		return o.printChanges(changes, note)
	}
	if changes == nil {
		changes = []account.Change{}
	}
	return o.PrintJSON(map[string]any{"changes": changes, "note": note})
}
