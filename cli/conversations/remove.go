package conversations

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup"
)

// removeOptions is what the command takes.
type removeOptions struct {
	oneOptions

	Yes bool
}

func newRemove(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := removeOptions{oneOptions: oneOptions{App: a, flags: flags}}
	cmd := &cobra.Command{
		Use:   "remove ID",
		Short: "Remove a conversation",
		Long: kit.Long(`
Removes a conversation permanently: its events and its state. The files of its
workspace stay. The command asks for confirmation; --yes skips the question. A
conversation that a daemon has open is not removed.

With --json the output has removed, the id.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Conflict),
		Example:           kit.Examples("ohgw conversations remove 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11", "ohgw conversations remove 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11 --yes"),
		Args:              kit.Exactly("the id"),
		ValidArgsFunction: completeIDs(a, flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID = args[0]
			return runRemove(cmd.Context(), &opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.Yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

// runRemove runs the command.
func runRemove(ctx context.Context, o *removeOptions) error {
	lib, id, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lib.Close() }() // Everything is on the disk.
	record, err := lib.Record(ctx, id)
	if err != nil {
		return explain(err)
	}
	question := fmt.Sprintf("Remove the conversation %q (%s)?", cmp.Or(setup.Clean(record.Title), id), record.Status)
	if yes, err := o.Confirm(ctx, o.Yes, question, "Nothing was removed."); err != nil || !yes {
		return err
	}
	if err := lib.Remove(ctx, id); err != nil {
		return explain(err)
	}
	if o.JSON {
		return o.PrintJSON(map[string]string{"removed": id})
	}
	o.Note("The conversation was removed.")
	return nil
}
