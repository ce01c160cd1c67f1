package cloud

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/accounts"
)

func newChanges(o *options) *cobra.Command {
	opts := oneOptions{options: o}
	return &cobra.Command{
		Use:   "changes ID",
		Short: "List the files that a conversation has changed",
		Long: kit.Long(`
Lists the files that a conversation on a server has changed in its repository,
also those that it has committed and not pushed. The conversation has to be
awake.

In a pipe, each file is one line: the change, a tab, the name. With --json,
changes is a list of objects with path and status (added, modified, deleted,
renamed, conflict), and note says what a list cannot.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example: kit.Examples("ohgw cloud changes 7f1c", "ohgw cloud changes 7f1c --json"),
		Args:    kit.Exactly("the id"), ValidArgsFunction: kit.CompleteOn(o.Account),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID = args[0]
			return runChanges(cmd.Context(), &opts)
		},
	}
}

// runChanges runs the command.
func runChanges(ctx context.Context, o *oneOptions) error {
	acc, conv, err := o.Find(ctx, o.ID)
	if err != nil {
		return err
	}
	defer acc.Close()
	changes, note, err := acc.Changes(ctx, conv.ID)
	if err != nil {
		return accounts.Fault(err, acc.Server)
	}
	if !o.JSON {
		return o.printChanges(changes, note)
	}
	if changes == nil {
		changes = []account.Change{}
	}
	return o.PrintJSON(map[string]any{"changes": changes, "note": note})
}

// printChanges prints changed files, grouped by what happened to them.
func (o *oneOptions) printChanges(changes []account.Change, note string) error {
	t := kit.Table{Header: []string{"CHANGE", "FILE"}}
	for _, status := range statusesOf(changes) {
		for _, c := range changes {
			if c.Status == status {
				t.Add(c.Status, c.Path)
			}
		}
	}
	if note != "" {
		o.Note("%s", note)
	} else if len(changes) == 0 {
		o.Hint("Nothing was changed.")
	}
	return t.Write(o.Stdout)
}

// statusesOf are the statuses of changes in the order of their first file.
func statusesOf(changes []account.Change) []string {
	var list []string
	seen := map[string]bool{}
	for _, c := range changes {
		if !seen[c.Status] {
			seen[c.Status] = true
			list = append(list, c.Status)
		}
	}
	return list
}
