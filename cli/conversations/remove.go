package conversations

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/accounts"
	"github.com/ohgw/ohgw/setup/library"
)

// removeOptions is what the command takes.
type removeOptions struct {
	oneOptions

	Yes bool
}

func newRemove(p *place) *cobra.Command {
	opts := removeOptions{oneOptions: oneOptions{place: p}}
	cmd := &cobra.Command{
		Use:   "remove ID",
		Short: "Remove a conversation",
		Long: kit.Long(`
Removes a conversation permanently: its events and its state. The files of its
workspace stay. The command asks for confirmation; --yes skips the question. A
conversation that a daemon has open is not removed.

With --server it is removed on the server, together with its sandbox and the
files there, unless another conversation uses the sandbox.

With --json the output has removed, the id.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Conflict),
		Example:           kit.Examples("ohgw conversations remove 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11", "ohgw conversations remove 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11 --yes"),
		Args:              kit.Exactly("the id"),
		ValidArgsFunction: completeIDs(p),
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
	remote, err := o.remote()
	if err != nil {
		return err
	}
	if remote {
		return runServerRemove(ctx, o)
	}
	lib, id, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lib.Close() }() // Everything is on the disk.
	record, err := lib.Record(ctx, id)
	if err != nil {
		return library.Fault(err)
	}
	question := fmt.Sprintf("Remove the conversation %q (%s)?", cmp.Or(setup.Clean(record.Title), id), record.Status)
	if yes, err := o.Confirm(ctx, o.Yes, question, "Nothing was removed."); err != nil || !yes {
		return err
	}
	if err := lib.Remove(ctx, id); err != nil {
		return library.Fault(err)
	}
	if o.JSON {
		return o.PrintJSON(map[string]string{"removed": id})
	}
	o.Note("The conversation was removed.")
	return nil
}

// runServerRemove removes a conversation on a server.
func runServerRemove(ctx context.Context, o *removeOptions) error {
	acc, conv, err := o.Find(ctx, o.ID)
	if err != nil {
		return err
	}
	defer acc.Close()
	question := fmt.Sprintf("Remove the conversation %q (%s, %s) from %s, with its files there?", cmp.Or(setup.Clean(conv.Title), conv.ID), conv.State, conv.ID, acc.Server.Name)
	if yes, err := o.Confirm(ctx, o.Yes, question, "Nothing was removed."); err != nil || !yes {
		return err
	}
	if err := acc.Remove(ctx, conv.ID); err != nil {
		return accounts.Fault(err, acc.Server)
	}
	if o.JSON {
		return o.PrintJSON(map[string]string{"removed": conv.ID})
	}
	o.Note("The conversation was removed.")
	return nil
}
