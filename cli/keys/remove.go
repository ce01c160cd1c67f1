package keys

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
)

// removeOptions is what the command takes.
type removeOptions struct {
	*options

	Name  string
	Field string
	Yes   bool
}

func newRemove(shared *options) *cobra.Command {
	opts := removeOptions{options: shared}
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a stored key",
		Long: kit.Long(`
Removes the stored key of a profile or of a provider (provider:NAME). Keys in
profiles and variables are kept; files that contain the removed key in clear
text are listed. The command asks for confirmation; --yes skips the question.
With --json, still_in is the list of those files.`,
			0, fault.Failed, fault.Usage, fault.Credential, fault.Conflict),
		Example:           kit.Examples("ohgw keys remove work", "ohgw keys remove provider:openai --yes"),
		Args:              keyArgs(1),
		ValidArgsFunction: completeKeys(shared.App),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			return runRemove(cmd.Context(), &opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.Yes, "yes", "y", false, "do not ask for confirmation")
	addField(cmd, &opts.Field)
	return cmd
}

// runRemove runs the command.
func runRemove(ctx context.Context, o *removeOptions) error {
	entry, err := keyEntry(o.App, o.Name, o.Field)
	if err != nil {
		return err
	}
	store, err := o.KeyStore(o.flags)
	if err != nil {
		return err
	}
	yes, err := o.Confirm(ctx, o.Yes, fmt.Sprintf("Remove the key for %s from the %s?", setup.DescribeEntry(entry), store), "Nothing was removed.")
	if err != nil || !yes {
		return err
	}
	if err := o.Setup().Reach(ctx, store); err != nil {
		return err
	}
	profiles, err := o.Setup().ProfileStore(0)
	if err != nil {
		return err
	}
	left := []string{}
	if key, err := store.Get(ctx, entry.Name); err == nil {
		left = append(left, copiesOf(ctx, o.App, profiles, key)...)
	}
	switch err := store.Delete(ctx, entry.Name); {
	case errors.Is(err, secret.ErrNotFound):
		return fault.New(fmt.Sprintf("no key is stored for %s in the %s", setup.DescribeEntry(entry), store), "ohgw keys list shows the stored keys", nil)
	case err != nil:
		return setup.KeyFault(ctx, err, store)
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"removed": entry, "store": store.JSON(), "still_in": left})
	}
	o.Note("The key for %s was removed from the %s.", setup.DescribeEntry(entry), store)
	tellCopies(o.App, profiles, left, true)
	return nil
}
