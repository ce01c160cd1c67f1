package profiles

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup"
)

// removeOptions is what the command takes.
type removeOptions struct {
	*options

	Name string
	Yes  bool
}

func newRemove(shared *options) *cobra.Command {
	opts := removeOptions{options: shared}
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a profile",
		Long: kit.Long(`
Removes a profile, the key in it, and the keys stored for it. A profile that
agent profiles or meta-profiles use is not removed. The command asks for
confirmation; --yes skips the question.`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Conflict),
		Example:           kit.Examples("ohgw profiles remove old", "ohgw profiles remove old --yes"),
		Args:              kit.ExactlyNames("the name"),
		ValidArgsFunction: shared.CompleteProfiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			return runRemove(cmd.Context(), &opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.Yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

// runRemove runs the command.
func runRemove(ctx context.Context, o *removeOptions) error {
	store, err := o.Setup().ProfileStore(o.LockTimeout)
	if err != nil {
		return err
	}
	yes, err := o.Confirm(ctx, o.Yes, fmt.Sprintf("Remove the profile %q and its keys?", o.Name), "Nothing was removed.")
	if err != nil || !yes {
		return err
	}
	done, err := store.Remove(ctx, o.Name)
	if err != nil {
		return o.Setup().ProfileFault(ctx, err, o.Name)
	}
	keys, err := o.KeyStore(o.flags)
	if err == nil {
		_, err = store.RemoveKeys(ctx, keys, done.Name)
	}
	if err != nil {
		return keysLeft(ctx, err, keys, fmt.Sprintf("the profile %q was removed, but its stored keys were not", done.Name), "ohgw keys remove "+done.Name)
	}
	if o.JSON {
		return o.PrintJSON(done)
	}
	o.Note("The profile %q is removed.", done.Name)
	if done.Active {
		o.Note("It was the active profile. Activate another with: ohgw profiles use NAME")
	}
	return nil
}

// keysLeft says that a change of a profile did not reach its stored keys.
func keysLeft(ctx context.Context, err error, store *setup.KeyStore, msg, hint string) error {
	if ctx.Err() != nil {
		return err
	}
	if store != nil {
		err = setup.KeyFault(ctx, err, store)
	}
	return &fault.Error{Msg: msg, Hint: hint, Code: fault.Partly, Err: err}
}
