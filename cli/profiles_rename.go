package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
)

func newProfilesRename(a *App, in *profilesInput) *cobra.Command {
	return &cobra.Command{
		Use:   "rename NAME NEW",
		Short: "Give a profile another name",
		Long: long(`
Gives a profile another name, also in the agent profiles that use it, in the
settings and in the names of its stored keys. The model id of the gateway
changes with it: openhands_NEW.`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Conflict),
		Example:           examples("ohgw profiles rename work claude", "ohgw profiles rename work claude --json"),
		Args:              exactly("the name", "the new name"),
		ValidArgsFunction: a.completeProfiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.profilesRename(cmd.Context(), in, args[0], args[1])
		},
	}
}

func (a *App) profilesRename(ctx context.Context, in *profilesInput, old, name string) error {
	store, err := a.Setup().ProfileStore(in.LockTimeout)
	if err != nil {
		return err
	}
	done, err := store.Rename(ctx, old, name)
	if err != nil {
		about := old
		if errors.Is(err, profile.ErrExists) || errors.Is(err, profile.ErrName) {
			about = name
		}
		return a.Setup().ProfileFault(ctx, err, about)
	}
	keys, err := a.keyStore(in.flags)
	if err == nil {
		err = store.MoveKeys(ctx, keys, done.Old, done.New)
	}
	if err != nil {
		return keysLeft(ctx, err, keys, "the profile is renamed, the keys stored for it are not", "ohgw keys set "+done.New)
	}
	if a.json {
		return a.printJSON(done)
	}
	a.Note("The profile %q is now %q.", done.Old, done.New)
	return nil
}
