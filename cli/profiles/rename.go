package profiles

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
)

func newRename(shared *options) *cobra.Command {
	return &cobra.Command{
		Use:   "rename NAME NEW",
		Short: "Rename a profile",
		Long: kit.Long(`
Renames a profile, also in the agent profiles and meta-profiles that use it, in
the settings, and in the names of its stored keys. The gateway's model id
changes to openhands_NEW.`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Conflict),
		Example:           kit.Examples("ohgw profiles rename work claude", "ohgw profiles rename work claude --json"),
		Args:              kit.ExactlyNames("the name", "the new name"),
		ValidArgsFunction: shared.CompleteProfiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRename(cmd.Context(), &renameOptions{options: shared, Old: args[0], New: args[1]})
		},
	}
}

// renameOptions is what the command takes.
type renameOptions struct {
	*options

	Old, New string
}

// runRename runs the command.
func runRename(ctx context.Context, o *renameOptions) error {
	store, err := o.Setup().ProfileStore(o.LockTimeout)
	if err != nil {
		return err
	}
	done, err := store.Rename(ctx, o.Old, o.New)
	if err != nil {
		about := o.Old
		if errors.Is(err, profile.ErrExists) || errors.Is(err, profile.ErrName) {
			about = o.New
		}
		return o.Setup().ProfileFault(ctx, err, about)
	}
	keys, err := o.KeyStore(o.flags)
	if err == nil {
		err = store.MoveKeys(ctx, keys, done.Old, done.New)
	}
	if err != nil {
		return keysLeft(ctx, err, keys, "the profile was renamed, but its stored keys were not", "ohgw keys set "+done.New)
	}
	if o.JSON {
		return o.PrintJSON(done)
	}
	o.Note("The profile %q is now %q.", done.Old, done.New)
	return nil
}
