package server

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

// removeOptions is what the command takes.
type removeOptions struct {
	options

	Yes bool
}

func newRemove(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := removeOptions{options: options{App: a, flags: flags}}
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a stored server and its key",
		Long: kit.Long(`
Removes a server from the list, and its key from the key store. Nothing changes
on the server: the key stays valid until you delete it there. If it was the
default server, the first of the others is. The command asks for confirmation;
--yes skips the question.

With --json, the output has removed, the name, and key_removed.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Conflict),
		Example:           kit.Examples("ohgw server remove work", "ohgw server remove work --yes"),
		Args:              kit.ExactlyNames("the name"),
		ValidArgsFunction: completeNames(a, flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			return runRemove(cmd.Context(), &opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.Yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

// runRemove runs the command. The key goes first: a key without its server is found
// by nothing.
func runRemove(ctx context.Context, o *removeOptions) error {
	stored, err := o.open()
	if err != nil {
		return err
	}
	list, err := stored.Store.List()
	if err != nil {
		return err
	}
	server, err := list.Get(o.Name)
	if err != nil {
		return err
	}
	yes, err := o.Confirm(ctx, o.Yes, fmt.Sprintf("Remove the server %s (%s) and its key?", server.Name, server.URL), "Nothing was removed.")
	if err != nil || !yes {
		return err
	}
	had, err := stored.Forget(ctx, server)
	if err != nil {
		return err
	}
	if err := stored.Store.Remove(ctx, server.Name); err != nil {
		return err
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"removed": server.Name, "key_removed": had})
	}
	o.Note("The server %s was removed.", server.Name)
	return nil
}
