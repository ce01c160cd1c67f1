package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/setup"
)

type keysRemoveInput struct {
	*keysInput

	Name  string
	Field string
	Yes   bool
}

func newKeysRemove(a *App, shared *keysInput) *cobra.Command {
	in := keysRemoveInput{keysInput: shared}
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a stored key",
		Long: long(`
Removes the stored key of a profile or of a provider (provider:NAME). Keys in
profiles and variables stay. It asks before it does; --yes answers that.`,
			0, fault.Failed, fault.Usage, fault.Credential, fault.Conflict),
		Example:           examples("ohgw keys remove work", "ohgw keys remove provider:openai --yes"),
		Args:              keyArgs(1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			return a.keysRemove(cmd.Context(), in)
		},
	}
	cmd.Flags().BoolVarP(&in.Yes, "yes", "y", false, "do not ask")
	addField(cmd, &in.Field)
	return cmd
}

func (a *App) keysRemove(ctx context.Context, in keysRemoveInput) error {
	if err := checkField(in.Field); err != nil {
		return err
	}
	profiles, err := a.Setup().ProfileStore(in.LockTimeout)
	if err != nil {
		return err
	}
	entry, err := keyEntry(profiles, in.Name, in.Field)
	if err != nil {
		return err
	}
	store, err := a.keyStore(in.flags)
	if err != nil {
		return err
	}
	if !in.Yes {
		yes, err := a.confirm(ctx, fmt.Sprintf("Remove the key for %s from the %s?", setup.DescribeEntry(entry), store), "--yes")
		if err != nil {
			return err
		}
		if !yes {
			a.Note("Nothing was removed.")
			return nil
		}
	}
	if err := a.Setup().Reach(ctx, store); err != nil {
		return err
	}
	switch err := store.Delete(ctx, entry.Name); {
	case errors.Is(err, secret.ErrNotFound):
		return fault.New(fmt.Sprintf("there is no key for %s in the %s", setup.DescribeEntry(entry), store), "ohgw keys list shows what there is", nil)
	case err != nil:
		return setup.KeyFault(ctx, err, store)
	}
	if a.json {
		return a.printJSON(map[string]any{"removed": entry, "store": store.JSON()})
	}
	a.Note("The key for %s is removed from the %s.", setup.DescribeEntry(entry), store)
	return nil
}
